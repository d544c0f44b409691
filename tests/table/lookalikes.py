"""Tables with the traits of well-known public ones: gaps, dates, names, truths, categories."""

import numpy as np
import pandas as pd


def _gaps(rng, column, part):
    return column.astype(object).where(rng.random(len(column)) >= part, None)


def penguins(rng, n=340):
    species = rng.choice(["Adelie", "Chinstrap", "Gentoo"], n, p=[0.45, 0.2, 0.35])
    big = species == "Gentoo"
    mass = rng.normal(3700, 400, n) + 1400 * big
    table = pd.DataFrame(
        {
            "species": species,
            "island": np.where(big, "Biscoe", rng.choice(["Dream", "Torgersen", "Biscoe"], n)),
            "bill_length_mm": (38 + 9 * (species != "Adelie") + rng.normal(0, 3, n)).round(1),
            "bill_depth_mm": (18 - 3 * big + rng.normal(0, 1, n)).round(1),
            "flipper_length_mm": (150 + mass / 95 + rng.normal(0, 4, n)).round(),
            "body_mass_g": (mass / 25).round() * 25,
            "sex": rng.choice(["MALE", "FEMALE"], n),
        }
    )
    table.loc[[3, 271], table.columns[2:]] = None
    table.loc[[8, 9, 10, 11, 47, 246, 286, 324], "sex"] = None
    return table


def diamonds(rng, n=3000):
    x = rng.gamma(12, 0.48, n).clip(3.5, 10)
    depth = rng.normal(61.7, 1.4, n)
    carat = x**3 * depth / 61.7 * 0.0061
    return pd.DataFrame(
        {
            "carat": carat.round(2),
            "cut": rng.choice(["Fair", "Good", "Ideal", "Premium", "Very Good"], n),
            "color": rng.choice([*"DEFGHIJ"], n),
            "clarity": rng.choice(["I1", "IF", "SI1", "SI2", "VS1", "VS2", "VVS1", "VVS2"], n),
            "depth": depth.round(1),
            "table": rng.normal(57, 2, n).round(),
            "price": (4500 * carat**1.5 * rng.lognormal(0, 0.2, n)).round().astype(int),
            "x": x.round(2),
            "y": (x * rng.normal(1, 0.005, n)).round(2),
            "z": (x * depth / 100).round(2),
        }
    )


def mpg(rng, n=398):
    cylinders = rng.choice([4, 6, 8], n, p=[0.52, 0.22, 0.26])
    power = 20 * cylinders + rng.normal(0, 12, n)
    names = [f"{rng.choice(['ford', 'vw', 'fiat', 'dodge'])} model {i * 3 // 4}" for i in range(n)]
    return pd.DataFrame(
        {
            "mpg": (45 - 0.2 * power + rng.normal(0, 3, n)).round(1),
            "cylinders": cylinders,
            "displacement": (40 * cylinders + rng.normal(-40, 20, n)).round(),
            "horsepower": _gaps(rng, pd.Series(power.round()), 0.015),
            "weight": (500 * cylinders + rng.normal(300, 300, n)).round().astype(int),
            "acceleration": rng.normal(15.5, 2.5, n).round(1),
            "model_year": np.sort(rng.integers(70, 83, n)),
            "origin": rng.choice(["usa", "japan", "europe"], n, p=[0.6, 0.2, 0.2]),
            "name": names,
        }
    )


def titanic(rng, n=891):
    pclass = rng.choice([1, 2, 3], n, p=[0.24, 0.21, 0.55])
    sex = rng.choice(["male", "female"], n, p=[0.65, 0.35])
    alone = rng.random(n) < 0.6
    survived = (rng.random(n) < np.where(sex == "female", 0.7, 0.2)).astype(int)
    town = rng.choice(["Southampton", "Cherbourg", "Queenstown"], n, p=[0.72, 0.19, 0.09])
    return pd.DataFrame(
        {
            "survived": survived,
            "pclass": pclass,
            "sex": sex,
            "age": _gaps(rng, pd.Series(rng.normal(30, 14, n).clip(0.4, 80).round(1)), 0.2),
            "sibsp": np.where(alone, 0, rng.poisson(1, n)),
            "parch": np.where(alone, 0, rng.poisson(0.8, n)),
            "fare": (np.exp(rng.normal(2, 0.5, n)) * (4 - pclass) ** 1.5).round(4),
            "embarked": [each[0] for each in town],
            "class": np.array(["First", "Second", "Third"])[pclass - 1],
            "who": np.where(sex == "female", "woman", "man"),
            "adult_male": sex == "male",
            "deck": _gaps(rng, pd.Series(rng.choice([*"ABCDEFG"], n)), 0.77),
            "embark_town": town,
            "alive": np.where(survived, "yes", "no"),
            "alone": alone,
        }
    )


def taxis(rng, n=6000):
    start = pd.Timestamp("2019-03-01") + pd.to_timedelta(rng.integers(0, 31 * 86400, n), "s")
    distance = rng.gamma(1.5, 2, n).round(2) + 0.1
    took = pd.to_timedelta((distance * 240 + rng.gamma(3, 60, n)).round(), "s")
    fare = (2.5 + 2.5 * distance + rng.gamma(2, 0.5, n)).round(1)
    zones = np.array([f"{a} {b}" for a in ("Upper", "Lower", "East", "West") for b in range(45)])
    tip = np.where(rng.random(n) < 0.6, 0.2 * fare, 0).round(2)
    boroughs = ["Manhattan", "Queens", "Brooklyn", "Bronx"]
    return pd.DataFrame(
        {
            "pickup": start.strftime("%Y-%m-%d %H:%M:%S"),
            "dropoff": (start + took).strftime("%Y-%m-%d %H:%M:%S"),
            "passengers": rng.choice([1, 2, 3, 4, 5, 6], n, p=[0.73, 0.14, 0.05, 0.03, 0.03, 0.02]),
            "distance": distance,
            "fare": fare,
            "tip": tip,
            "tolls": np.where(rng.random(n) < 0.05, 5.76, 0.0),
            "total": (fare + tip + 3.3).round(2),
            "color": rng.choice(["yellow", "green"], n, p=[0.85, 0.15]),
            "payment": _gaps(rng, pd.Series(rng.choice(["credit card", "cash"], n)), 0.007),
            "pickup_zone": _gaps(rng, pd.Series(rng.choice(zones, n)), 0.004),
            "dropoff_zone": _gaps(rng, pd.Series(rng.choice(zones, n)), 0.007),
            "pickup_borough": _gaps(rng, pd.Series(rng.choice(boroughs, n)), 0.004),
        }
    )


def planets(rng, n=1035):
    kinds = ["Radial Velocity", "Transit", "Imaging", "Microlensing", "Timing"]
    method = rng.choice(kinds, n, p=[0.53, 0.38, 0.05, 0.03, 0.01])
    return pd.DataFrame(
        {
            "method": method,
            "number": rng.poisson(0.8, n) + 1,
            "orbital_period": _gaps(rng, pd.Series(np.exp(rng.normal(4, 2, n)).round(5)), 0.04),
            "mass": _gaps(rng, pd.Series(np.exp(rng.normal(0, 1.5, n)).round(3)), 0.5),
            "distance": _gaps(rng, pd.Series(np.exp(rng.normal(4.5, 1, n)).round(2)), 0.22),
            "year": rng.integers(1995, 2015, n),
        }
    )


def tips(rng, n=244):
    bill = rng.gamma(5, 4, n).round(2)
    return pd.DataFrame(
        {
            "total_bill": bill,
            "tip": (0.15 * bill + rng.normal(0.5, 0.5, n)).clip(1).round(2),
            "sex": rng.choice(["Male", "Female"], n),
            "smoker": rng.choice(["No", "Yes"], n),
            "day": rng.choice(["Thur", "Fri", "Sat", "Sun"], n),
            "time": rng.choice(["Dinner", "Lunch"], n),
            "size": rng.choice([1, 2, 3, 4, 5, 6], n, p=[0.02, 0.64, 0.15, 0.15, 0.02, 0.02]),
        }
    )


def flights(rng, n=144):
    i = np.arange(n)
    months = np.array([f"{month:%b}" for month in pd.date_range("2000", periods=12, freq="MS")])
    season = 1 + 0.2 * np.sin(i / 12 * 2 * np.pi)
    passengers = (112 + 2.6 * i) * season + rng.normal(0, 8, n)
    return pd.DataFrame(
        {"year": 1949 + i // 12, "month": months[i % 12], "passengers": passengers.round()}
    ).astype({"passengers": int})


def seaice(rng, n=3000):
    days = pd.date_range("1980-01-01", periods=n, freq="D")
    extent = 11 + 4 * np.cos((days.day_of_year - 70) / 365.25 * 2 * np.pi) + rng.normal(0, 0.3, n)
    return pd.DataFrame({"Date": days.strftime("%Y-%m-%d"), "Extent": np.round(extent, 3)})


def dowjones(rng, n=649):
    months = pd.date_range("1914-12-01", periods=n, freq="MS")
    price = np.exp(4 + 0.003 * np.arange(n) + rng.normal(0, 0.04, n).cumsum())
    return pd.DataFrame({"Date": months.strftime("%Y-%m-%d"), "Price": price.round(2)})


def healthexp(rng, n=274):
    countries = ["Canada", "France", "Germany", "Great Britain", "Japan", "USA"]
    year = 1970 + np.arange(n) // 6
    k = np.arange(n) % 6
    spending = 150 * np.exp(0.075 * (year - 1970)) * (1 + 0.2 * k) + rng.normal(0, 20, n)
    return pd.DataFrame(
        {
            "Year": year,
            "Country": np.array(countries)[k],
            "Spending_USD": spending.round(3),
            "Life_Expectancy": (71 + 0.2 * (year - 1970) + rng.normal(0, 0.6, n)).round(1),
        }
    )


TABLES = {
    each.__name__: each
    for each in (penguins, diamonds, mpg, titanic, taxis, planets, tips, flights, seaice)
} | {each.__name__: each for each in (dowjones, healthexp)}
