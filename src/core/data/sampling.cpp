#include "core/data/sampling.hpp"

#include <algorithm>
#include <bit>

#include "core/data/random.hpp"
#include "core/data/types.hpp"

namespace treerank {

namespace {

constexpr std::uint64_t kSampleBranch = 0x73616d706c65ULL;  // not shared with draws of nodes
constexpr std::uint64_t kBlockBranch = 0, kSplitBranch = 1;

// Returns the number of heads among n fair coin flips.
std::size_t heads(std::size_t n, std::uint64_t key, std::uint64_t& counter) {
    std::size_t ones = 0;
    for (; n >= 64; n -= 64) ones += std::popcount(mix(key + counter++));
    if (n > 0) ones += std::popcount(mix(key + counter++) & ((std::uint64_t{1} << n) - 1));
    return ones;
}

// Draws from the binomial distribution with success probability left / all. The n uniform numbers
// are compared with left / all simultaneously, bit by bit from the highest; each bit decides about
// half of the remaining ones. Integer arithmetic gives the same result on every machine.
std::size_t binomial(std::size_t n, std::size_t left, std::size_t all, std::uint64_t key) {
    std::size_t below = 0, open = n, rest = left;
    std::uint64_t counter = 0;
    while (open > 0 && rest > 0) {
        rest *= 2;
        const bool bit = rest >= all;
        if (bit) rest -= all;
        const std::size_t ones = heads(open, key, counter);
        below += bit ? open - ones : 0;
        open = bit ? ones : open - ones;
    }
    return below;
}

// Draws from the hypergeometric distribution: how many of n distinct rows out of `all` are among
// the first `left`. Draws the chosen rows or the other rows one by one, whichever are fewer.
std::size_t hypergeometric(std::size_t n, std::size_t left, std::size_t all, std::uint64_t key) {
    const bool few = 2 * n <= all;
    const std::size_t draws = few ? n : all - n;
    std::size_t room = left;
    for (std::size_t i = 0; i < draws; ++i)
        room -= uniform_below(mix(key + i), static_cast<std::uint32_t>(all - i)) < room;
    return few ? left - room : room;
}

struct BlockRange {
    std::size_t first;
    std::size_t last;
};

// Distributes the draws of a tree over its blocks by recursive halving.
class Blocks {
  public:
    Blocks(const Sampling& sampling, std::size_t tree, std::size_t n)
        : sampling_(sampling),
          key_(key_of(key_of(sampling.seed, kSampleBranch), tree)),
          split_key_(key_of(key_, kSplitBranch)),
          n_(n) {}

    // Draws the counts of the wanted blocks among [first, last), which have `draws` draws in total.
    // `counts` begins with the first wanted block.
    void draw(std::size_t first, std::size_t last, std::size_t draws, BlockRange wanted,
              std::uint8_t* counts) const {
        if (last <= wanted.first || first >= wanted.last) return;
        if (last - first == 1)
            return draw_rows(first, draws, counts + (first - wanted.first) * kRowsPerBlock);
        const std::size_t left = draws_left(first, last, draws);
        draw(first, (first + last) / 2, left, wanted, counts);
        draw((first + last) / 2, last, draws - left, wanted, counts);
    }

    std::size_t rows(std::size_t first, std::size_t last) const {
        return std::min(n_, last * kRowsPerBlock) - first * kRowsPerBlock;
    }

  private:
    std::size_t draws_left(std::size_t first, std::size_t last, std::size_t draws) const {
        const std::size_t middle = (first + last) / 2;
        const std::size_t left = rows(first, middle), right = rows(middle, last);
        const std::uint64_t key = key_of(split_key_, middle);
        if (!sampling_.replace) return hypergeometric(draws, left, left + right, key);
        const std::size_t full = std::size_t{kMaxRepeat} * right;
        return std::clamp(binomial(draws, left, left + right, key), draws > full ? draws - full : 0,
                          std::min(draws, std::size_t{kMaxRepeat} * left));
    }

    void draw_rows(std::size_t b, std::size_t draws, std::uint8_t* counts) const {
        const std::uint64_t key = key_of(key_of(key_, kBlockBranch), b);
        if (sampling_.replace)
            draw_with_replacement(key, draws, rows(b, b + 1), counts);
        else
            draw_smallest_keys(key, draws, rows(b, b + 1), counts);
    }

    // Takes two rows from each random number.
    static void draw_with_replacement(std::uint64_t key, std::size_t draws, std::size_t n,
                                      std::uint8_t* counts) {
        for (std::size_t i = 0; i < draws; ++i) {
            const std::uint64_t bits = mix(key + i / 2) << (i % 2 == 0 ? 0 : 32);
            std::size_t row = uniform_below(bits, static_cast<std::uint32_t>(n));
            while (counts[row] == kMaxRepeat) row = row + 1 < n ? row + 1 : 0;
            ++counts[row];
        }
    }

    static void draw_smallest_keys(std::uint64_t key, std::size_t draws, std::size_t n,
                                   std::uint8_t* counts) {
        if (draws == 0) return;
        std::vector<std::uint64_t> keys(n);
        for (std::size_t i = 0; i < n; ++i) keys[i] = key_of(key, i);  // a bijection: no ties
        std::vector<std::uint64_t> sorted = keys;
        std::nth_element(sorted.begin(), sorted.begin() + (draws - 1), sorted.end());
        for (std::size_t i = 0; i < n; ++i) counts[i] = keys[i] <= sorted[draws - 1];
    }

    const Sampling& sampling_;
    const std::uint64_t key_;
    const std::uint64_t split_key_;
    const std::size_t n_;
};

}  // namespace

std::vector<std::uint8_t> draw_counts(const Sampling& sampling, std::size_t tree, std::size_t n_all,
                                      std::size_t first, std::size_t n) {
    if (n == 0) return {};
    const Blocks blocks(sampling, tree, n_all);
    const BlockRange wanted{first / kRowsPerBlock, n_blocks(first + n)};
    std::vector<std::uint8_t> counts(blocks.rows(wanted.first, wanted.last));
    blocks.draw(0, n_blocks(n_all), sampling.n_draws, wanted, counts.data());
    const std::size_t skipped = first - wanted.first * kRowsPerBlock;
    counts.erase(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(skipped));
    counts.resize(n);
    return counts;
}

std::vector<Row> rows_that_count(std::size_t n, const std::uint8_t* labels,
                                 const std::uint8_t* repeats, const std::int64_t* weights) {
    std::vector<Row> rows(n);
    std::size_t n_kept = 0;  // branch-free: which rows a fold holds out is unpredictable
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint8_t repeat = repeats != nullptr ? repeats[i] : 1;
        rows[n_kept] = pack_row(static_cast<std::uint32_t>(i), labels[i] != 0, repeat);
        n_kept += repeat != 0 && (weights == nullptr || weights[i] != 0);
    }
    rows.resize(n_kept);
    return rows;
}

}  // namespace treerank
