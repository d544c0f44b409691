"""Run every benchmark."""

from benchmarks import adam, algorithm_1, methods, planted, sampling

for benchmark in (algorithm_1, adam, planted, methods, sampling):
    benchmark.main()
    print()
