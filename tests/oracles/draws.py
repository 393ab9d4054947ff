"""Keyed draws: samples of rows and folds."""

from fractions import Fraction

import numpy as np


def _mix(x):
    """The finaliser of splitmix64."""
    mask = 2**64 - 1
    x = (x + 0x9E3779B97F4A7C15) & mask
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & mask
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & mask
    return x ^ (x >> 31)


def _key(parent, branch):
    return _mix(parent ^ _mix(branch))


def draw_counts(seed, tree, n_draws, n, replace, block_rows=65536):
    """Return how often each row is drawn: draws are divided among blocks by halves, then made."""
    key = _key(_key(seed, 0x73616D706C65), tree)
    sizes = [min(block_rows, n - first) for first in range(0, n, block_rows)]
    counts = []
    for block, draws in enumerate(_share_out(key, n_draws, sizes, 0, replace)):
        block_key = _key(_key(key, 0), block)
        mine = np.zeros(sizes[block], dtype=int)
        if replace:
            for i in range(draws):
                bits = _mix((block_key + i // 2) % 2**64)
                half = bits >> 32 if i % 2 == 0 else bits % 2**32
                row = half * sizes[block] >> 32
                while mine[row] == 15:
                    row = (row + 1) % sizes[block]
                mine[row] += 1
        else:
            by_key = sorted(range(sizes[block]), key=lambda row: _key(block_key, row))
            mine[by_key[:draws]] = 1
        counts.append(mine)
    return counts


def _share_out(key, draws, sizes, first, replace):
    """Return the number of draws of each block, following each draw individually."""
    if len(sizes) == 1:
        return [draws]
    half = (2 * first + len(sizes)) // 2 - first
    left, total = sum(sizes[:half]), sum(sizes)
    split = _key(_key(key, 1), first + half)
    if replace:
        n_left = _count_below(draws, Fraction(left, total), split)
        n_left = min(max(n_left, draws - 15 * (total - left)), 15 * left)
    else:
        few = 2 * draws <= total
        room = left
        for i in range(draws if few else total - draws):
            room -= ((_mix((split + i) % 2**64) >> 32) * (total - i) >> 32) < room
        n_left = left - room if few else room
    return _share_out(key, n_left, sizes[:half], first, replace) + _share_out(
        key, draws - n_left, sizes[half:], first + half, replace
    )


def _count_below(n, share, key):
    """Return how many of n numbers lie below the share, bit by bit, with 64 numbers per word."""
    undecided, below, word = n, 0, 0
    while undecided and share:
        share *= 2
        digit = int(share >= 1)
        share -= digit
        bits = []
        for _ in range(0, undecided, 64):
            random = _mix((key + word) % 2**64)
            bits += [random >> k & 1 for k in range(64)]
            word += 1
        bits = bits[:undecided]
        below += sum(bit < digit for bit in bits)
        undecided = sum(bit == digit for bit in bits)
    return below


def folds(hashes, labels, units, n_folds, seed):
    """Assign the rows of each class to folds 0, 1, ... by hash; on ties, by weight, then order.

    If a class has equal rows, their positions are shuffled first.
    """
    fold = np.empty(len(hashes), dtype=np.int32)
    weight = np.ones(len(hashes)) if units is None else units
    for k in np.unique(labels):
        rows = np.flatnonzero(labels == k)
        order = sorted(rows.tolist(), key=lambda i: (hashes[i], weight[i], i))
        places = range(len(order))
        if len(set(hashes[rows].tolist())) < len(rows):
            key = shuffle_key(seed, int(k))
            places = [shuffled(place, len(order), key) for place in places]
            assert sorted(places) == list(range(len(order)))
        fold[order] = np.array(places) % n_folds
    return fold


def shuffle_key(seed, label):
    """Return the key that shuffles the rows of a class before they are assigned to folds."""
    return _key(_key(seed, 0x73687566666C65), label)


def shuffled(number, size, key):
    """Permute the numbers below `size` by a Feistel network of four rounds."""
    half = ((size - 1).bit_length() + 1) // 2
    while True:
        high, low = divmod(number, 1 << half)
        for step in range(4):
            high, low = low, high ^ (_mix(low ^ _key(key, step)) & ((1 << half) - 1))
        number = (high << half) | low
        if number < size:
            return number
