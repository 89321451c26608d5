"""A table with everything that tables have: ids, categories, dates, empty cells, free text, and labels."""

import numpy as np


def orders(rows=120):
    """Orders with the labels y_0, y_1 and y_2."""
    import pandas as pd

    rng = np.random.default_rng(0)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, rows), unit="D")
    city = rng.choice(["Paris", "Rome", "Oslo"], rows)
    price = rng.lognormal(3, 1, rows)
    frame = pd.DataFrame(
        {
            "order_id": [f"{i:05d}" for i in range(rows)],
            "customer": [f"c{i:04d}" for i in range(rows)],
            "city": city,
            "price": price,
            "sold": days.strftime("%Y-%m-%d"),
            "opened": days.strftime("%d.%m.%Y"),
            "at": [f"{d:%Y-%m-%d} {hour:02d}:30:00" for d, hour in zip(days, rng.integers(0, 24, rows), strict=True)],
            "note": rng.choice([f"text {i}" for i in range(3 * rows // 4)], rows),
            "vip": rng.choice(["true", "false"], rows),
            "rooms": [str(i) if i > 2 else "unknown" for i in rng.integers(0, 80, rows)],
            "nothing": "",
            "country": "FR",
        }
    )
    frame.loc[::7, "city"] = None
    frame.loc[::5, "price"] = None
    labels = np.column_stack([city == "Rome", price > np.median(price), days.month > 6])
    flipped = labels ^ (rng.random(labels.shape) < 0.1)
    return frame.assign(**{f"y_{j}": flipped[:, j].astype(int) for j in range(3)})
