"""Damage to model files: bits, bytes, lengths, and edits that know the document's structure."""

import copy
import io
import json
import zipfile

import numpy as np

DTYPES = ["|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f4", "<f8"]
ODD_NUMBERS = [
    0, 1, -1, 2, 255, 256, 65_535, 65_536, 2**31 - 1, -(2**31), 2**31, 2**63, -(2**63) - 1, 10**40,
    0.5, -0.0, 1e308, 1e-320, "NaN", "Infinity", "-Infinity", True, None, "", "text", [], {}, [[0]],
]  # fmt: skip


def mutate(raw, rng):
    """Return a damaged copy of a file, and the kind of damage."""
    kind = KINDS[rng.integers(len(KINDS))]
    return kind(raw, rng), kind.__name__


def flip_bits(raw, rng):
    data = bytearray(raw)
    for _ in range(rng.integers(1, 9)):
        data[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
    return bytes(data)


def change_bytes(raw, rng):
    data = bytearray(raw)
    at = int(rng.integers(len(data)))
    size = int(rng.integers(1, 17))
    data[at : at + size] = rng.bytes(int(rng.integers(0, 17)))
    return bytes(data)


def cut_off(raw, rng):
    return raw[: rng.integers(len(raw))]


def repeat_part(raw, rng):
    a, b = sorted(rng.integers(len(raw) + 1, size=2))
    return raw[:b] + raw[a:b] + raw[b:]


def edit_document(raw, rng):
    """Change one value, field or item of the JSON, anywhere in it."""
    document, members = open_file(raw)
    for _ in range(rng.integers(1, 4)):
        edit(document, rng)
    return close_file(document, members, zipped=is_zip(raw))


def edit_array(raw, rng):
    """Change a few values of one array to plausible or odd ones."""
    document, members = open_file(raw)
    arrays = list(find_arrays(document))
    for _ in range(rng.integers(1, 4)):
        array = arrays[rng.integers(len(arrays))]
        if "member" in array:
            change_member(members, array, rng)
        elif array["values"]:
            i = rng.integers(len(array["values"]))
            array["values"][i] = near_value(array["values"], rng)
    return close_file(document, members, zipped=is_zip(raw))


def edit_shape(raw, rng):
    document, members = open_file(raw)
    arrays = list(find_arrays(document))
    array = arrays[rng.integers(len(arrays))]
    if rng.random() < 0.3:
        array["dtype"] = DTYPES[rng.integers(len(DTYPES))]
    else:
        array["shape"] = [int(rng.choice([0, 1, 3, 2**20, 2**47])) for _ in array["shape"]]
    return close_file(document, members, zipped=is_zip(raw))


def edit_members(raw, rng):
    """Drop, swap, truncate or overwrite the members of a zip."""
    if not is_zip(raw):
        return edit_document(raw, rng)
    document, members = open_file(raw)
    names = list(members)
    a, b = names[rng.integers(len(names))], names[rng.integers(len(names))]
    choice = rng.integers(4)
    if choice == 0:
        del members[a]
    elif choice == 1:
        members[a], members[b] = members[b], members[a]
    elif choice == 2:
        members[a] = members[a][: rng.integers(len(members[a]) + 1)]
    else:
        members[a] = rng.bytes(len(members[a]))
    return close_file(document, members, zipped=True)


KINDS = [
    flip_bits, change_bytes, cut_off, repeat_part, edit_document, edit_array, edit_array,
    edit_array, edit_shape, edit_members,
]  # fmt: skip


def is_zip(raw):
    return raw[:4] == b"PK\x03\x04"


def open_file(raw):
    if not is_zip(raw):
        return json.loads(raw), {}
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(members.pop("model.json")), members


def close_file(document, members, zipped):
    text = json.dumps(document).encode()
    if not zipped:
        return text
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("model.json", text)
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def find_arrays(value):
    if isinstance(value, dict):
        if "dtype" in value and "shape" in value:
            yield value
        else:
            for inner in value.values():
                yield from find_arrays(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from find_arrays(inner)


def near_value(values, rng):
    """Return another value of the array, one next to it, or an odd one."""
    other = values[rng.integers(len(values))]
    choice = rng.random()
    if choice < 0.4:
        return other
    if choice < 0.8 and isinstance(other, int | float) and not isinstance(other, bool):
        return other + int(rng.integers(-2, 3))
    return odd_value(rng)


def odd_value(rng):
    """Return a value that does not belong there; a copy, as a later edit may change it."""
    return copy.deepcopy(ODD_NUMBERS[rng.integers(len(ODD_NUMBERS))])


def change_member(members, array, rng):
    values = np.frombuffer(members[array["member"]], dtype=array["dtype"]).copy()
    for _ in range(rng.integers(1, 5)):
        i = rng.integers(len(values))
        if rng.random() < 0.7:
            values[i] = values[rng.integers(len(values))]
        elif values.dtype.kind == "f":
            values[i] = rng.choice([np.nan, np.inf, 0.0, -1.0, 1e300]).astype(np.float32)
        else:
            values[i] = np.frombuffer(rng.bytes(values.itemsize), dtype=values.dtype)[0]
    members[array["member"]] = values.tobytes()


def edit(document, rng):
    """Walk to a random place and change the value there."""
    at = document
    while True:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        if not keys:
            return
        key = keys[rng.integers(len(keys))]
        inner = at[key]
        if isinstance(inner, dict | list) and inner and rng.random() < 0.85:
            at = inner
            continue
        choice = rng.random()
        if choice < 0.2:
            del at[key]
        elif choice < 0.3 and isinstance(at, dict):
            at[f"{key} "] = at.pop(key)
        elif choice < 0.4 and isinstance(at, list):
            at.insert(key, inner)
        elif choice < 0.5:
            other = keys[rng.integers(len(keys))]
            at[key], at[other] = at[other], at[key]
        else:
            at[key] = odd_value(rng)
        return
