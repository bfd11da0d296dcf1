"""What a fit shows when it is printed: names and sizes, since it is confidential."""

import html
import textwrap

import xarray as xr


class Fit(xr.DataTree):
    """A fit that does not print its values.

    Whoever asks for a group, a variable or the attributes gets them as of any other
    tree.
    """

    __slots__ = ()

    @classmethod
    def of(cls, tree):
        """Return a tree that prints like this."""
        return cls(tree.to_dataset(), dict(tree.children), tree.name)

    def __repr__(self):
        model = self.attrs.get("synthesizer", "model")
        lines = [f"Fit of a {model} (confidential; values are shown by group)"]
        width = max(map(len, self.children), default=0)
        for name, group in self.children.items():
            names = textwrap.shorten(", ".join(map(str, group.data_vars)), 60)
            sizes = ", ".join(f"{dim}: {size}" for dim, size in group.sizes.items())
            lines.append(f"  {name:{width}}  {names} ({sizes})")
        if "occupied" in self.get("sample_stats", {}):
            means = self["sample_stats"]["occupied"].mean("draw").to_numpy()
            by_chain = ", ".join(f"{mean:.1f}" for mean in means)
            lines.append(f"  components with records, by chain: {by_chain}")
        problems = self.attrs.get("not_converged")
        return "\n".join([*lines, f"  {problems or 'no convergence problem found'}"])

    __str__ = __repr__

    def _repr_html_(self):
        return f"<pre>{html.escape(repr(self))}</pre>"
