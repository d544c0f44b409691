"""Run every benchmark."""

from benchmarks import adam, algorithm_1, planted

for benchmark in (algorithm_1, adam, planted):
    benchmark.main()
    print()
