"""Problems within a catalogue file: one line for each, with section, item and field."""

import pytest

from compute.services.catalogue.reading import read
from config.errors import Invalid

SMALL = """
types:
  - id: small
    label: Small
    memory: 2 GB
    disk: 51200
    vcpus: 1
    transfer: 1000
    network_out: 1000
    price: {hourly: 0.01, monthly: 5}
"""


def refused_lines(text: str) -> list[str]:
    with pytest.raises(Invalid) as caught:
        read(text)
    return [
        f"{problem.field}: {problem.reason}" if problem.field else problem.reason
        for problem in caught.value.problems
    ]


def test_all_errors_are_reported_together():
    lines = refused_lines("""
regions:
  - id: no osl
    country: Norway
    colour: blue
  - country: no
types:
  - id: small
    label: 7
    memory: 2 GiB
    disk: -1
    vcpus: true
    transfer: 1000.5
    network_out: 99999999999
    price: {hourly: free}
colours: []
""")
    assert [line.partition(": ")[0] for line in lines] == [
        "colours", "regions.no osl.id", "regions.no osl.country", "regions.no osl.colour", "regions[1].id",
        "types.small.label", "types.small.memory", "types.small.disk", "types.small.vcpus", "types.small.transfer",
        "types.small.network_out", "types.small.price.hourly", "types.small.price.monthly",
    ]  # fmt: skip
    assert "types.small.memory: Must be a number of MB, or a size such as 64 GB." in lines


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "A catalogue has sections: regions, types"),
        ("- a", "A catalogue has sections"),
        ("regions: no", "regions: Must be a list."),
        ("regions: [no-osl]", "regions[0]: Must be an item with fields"),
        ("regions: [{id: a, id: b}]", "Line 1: 'id' appears twice."),
        ('{"regions": [], "regions": []}', "'regions' appears twice."),
        ('{"types": [{"price": {"hourly": NaN}}]}', "NaN is not a number."),
        ('{"regions": [', "Line 1: "),
        ("regions: [", "Line 1: "),
        ("regions: !!python/object:os.system []", "Line 1: could not determine a constructor"),
        ("a: \x00", "This is not YAML: "),
        ("regions: " + "[" * 5000, "The file is nested too deeply."),
        ("pools: [{network: 10.0.0.1/24, region: a, kind: public, gateway: 10.0.0.1}]",
            "pools.10.0.0.1/24.netw"),
        ("images: [{id: private/7, label: Mine, size: 1}]", "images.private/7.id: Must not begin with private/"),
        ("regions: [{id: a, country: no}, {id: a, country: se}]", "regions.a.id: Another item has the same value."),
        ("regions: [{id: a, country: no, resolvers: {ipv4: [2001:db8::1]}}]",
            "regions.a.resolvers.ipv4: 2001:db8"),
        ("regions: [{id: a, country: no, resolvers: 9}]", "regions.a.resolvers: The field does not exist."),
        ("images: [{id: compute/a, label: A, size: 1, eol: soon}]", "images.compute/a.eol: Must be a day"),
        (SMALL + "    class: huge", "types.small.class: Must be one of nanode"),
        (SMALL + "    backup_price: {yearly: 1}", "types.small.backup_price.yearly: The field does not exist."),
        (SMALL.replace("out: 1000", "out: 0"), "types.small.network_out: Must be from 1 to 100000."),
        (SMALL.replace("out: 1000", "out: 100001"), "types.small.network_out: Must be from 1 to 100000."),
        (SMALL + '    successor: ""', "types.small.successor: Must not be empty."),
    ],
)  # fmt: skip
def test_each_error_of_a_file_is_one_line(text, line):
    [only] = refused_lines(text)
    assert only.startswith(line)


def test_countries_and_days_need_no_quotes_and_units_are_understood():
    catalogue = read(SMALL + "regions: [{id: a, country: no}, {id: b, country: 'on'}]\n")
    assert [region.stated()["country"] for region in catalogue["regions"]] == ["no", "on"]
    assert catalogue["types"][0].stated()["memory"] == 2048
    [image] = read("images: [{id: compute/a, label: A, size: 1 TB, eol: 2030-06-30}]")["images"]
    assert image.stated()["eol"].isoformat() == "2030-06-30T00:00:00+00:00"
    assert image.stated()["size"] == 1024**2


def test_a_section_with_nothing_in_it_is_there_and_one_that_is_not_named_is_not():
    assert read("hosts:") == {"hosts": []}
    assert read("{}") == {}
