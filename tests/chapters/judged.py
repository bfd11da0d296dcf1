"""What tests of chapters do with claims and tables."""


def verdicts(claims):
    return {name: bool(holds) for name, (_, holds) in claims.items()}


def set_to(table, row, column, value):
    changed = table.copy()
    changed.loc[row, column] = value
    return changed
