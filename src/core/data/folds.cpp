#include "core/data/folds.hpp"

#include <algorithm>
#include <utility>

#include "core/data/random.hpp"
#include "core/histogram/kernels.hpp"

namespace treerank {

namespace {

constexpr std::size_t kRowsPerHashing = 2048;  // their hashes fit in the cache
constexpr std::size_t kRowsPerBlock = 1 << 16;
constexpr int kBucketBits = 8;  // hash bits of the first sorting pass
constexpr int kSubBits = 8;     // hash bits of the second pass
constexpr std::size_t kBuckets = std::size_t{1} << kBucketBits;
constexpr std::size_t kSubBuckets = std::size_t{1} << kSubBits;

constexpr std::uint64_t kShuffleBranch = 0x73687566666c65;  // key branch of the shuffle

struct HashedRow {
    std::uint64_t hash;
    std::uint32_t row;
};

// Sorts the rows of one bucket: first by further bits of the hash (a counting sort), which leaves
// almost nothing to compare.
class BucketSort {
  public:
    explicit BucketSort(const std::int64_t* units) : units_(units) {}

    void sort(HashedRow* rows, std::size_t n) {
        std::size_t ends[kSubBuckets] = {};
        const auto sub_bucket = [](const HashedRow& row) {
            return (row.hash << kBucketBits) >> (64 - kSubBits);
        };
        for (std::size_t i = 0; i < n; ++i) ++ends[sub_bucket(rows[i])];
        std::size_t sum = 0;
        for (std::size_t& end : ends) sum = end += sum;
        room_.resize(n);
        for (std::size_t i = n; i-- > 0;) room_[--ends[sub_bucket(rows[i])]] = rows[i];
        for (std::size_t b = 0; b < kSubBuckets; ++b) {  // sub-bucket b now begins at ends[b]
            const auto last = b + 1 < kSubBuckets ? ends[b + 1] : n;
            std::sort(room_.begin() + static_cast<std::ptrdiff_t>(ends[b]),
                      room_.begin() + static_cast<std::ptrdiff_t>(last),
                      [&](const HashedRow& x, const HashedRow& y) { return before(x, y); });
        }
        std::copy(room_.begin(), room_.end(), rows);
    }

  private:
    bool before(const HashedRow& x, const HashedRow& y) const {
        if (x.hash != y.hash) return x.hash < y.hash;
        if (units_ != nullptr && units_[x.row] != units_[y.row])
            return units_[x.row] < units_[y.row];
        return x.row < y.row;
    }

    const std::int64_t* units_;
    std::vector<HashedRow> room_;
};

// Groups rows by class and by the leading bits of their hashes. Sets `starts` to the position at
// which each bucket begins.
Unfilled<HashedRow> into_buckets(const std::uint64_t* hashes, std::size_t n,
                                 const std::uint8_t* labels, std::size_t n_classes,
                                 std::vector<std::size_t>& starts, ThreadPool& pool) {
    const std::size_t n_buckets = n_classes * kBuckets;
    const std::size_t n_blocks = (n + kRowsPerBlock - 1) / kRowsPerBlock;
    const auto bucket_of = [&](std::size_t row) {
        return labels[row] * kBuckets + (hashes[row] >> (64 - kBucketBits));
    };
    std::vector<std::size_t> next(n_blocks * n_buckets);  // by block, then bucket
    run_blocks(pool, n, kRowsPerBlock, [&](std::size_t first, std::size_t last) {
        std::size_t* of_block = next.data() + first / kRowsPerBlock * n_buckets;
        for (std::size_t row = first; row < last; ++row) ++of_block[bucket_of(row)];
    });
    starts.assign(n_buckets + 1, 0);
    std::size_t sum = 0;
    for (std::size_t bucket = 0; bucket < n_buckets; ++bucket) {
        starts[bucket] = sum;
        for (std::size_t block = 0; block < n_blocks; ++block)
            sum += std::exchange(next[block * n_buckets + bucket], sum);
    }
    starts[n_buckets] = sum;
    Unfilled<HashedRow> rows(n);
    run_blocks(pool, n, kRowsPerBlock, [&](std::size_t first, std::size_t last) {
        std::size_t* of_block = next.data() + first / kRowsPerBlock * n_buckets;
        for (std::size_t row = first; row < last; ++row)
            rows[of_block[bucket_of(row)]++] = {hashes[row], static_cast<std::uint32_t>(row)};
    });
    return rows;
}

}  // namespace

template <class Code>
Unfilled<std::uint64_t> row_hashes(const CodeMatrix<Code>& codes, const std::uint8_t* labels,
                                   std::uint64_t seed, ThreadPool& pool) {
    Unfilled<std::uint64_t> hashes(codes.rows);
    run_blocks(pool, codes.rows, kRowsPerHashing, [&](std::size_t first, std::size_t last) {
        for (std::size_t row = first; row < last; ++row) hashes[row] = key_of(seed, labels[row]);
        for (std::size_t f = 0; f < codes.features; ++f)
            kernels<Code, PackedCount>().hash(codes.column(f) + first, last - first,
                                              hashes.data() + first);
    });
    return hashes;
}

std::uint64_t place_in_class(std::uint64_t place, std::uint64_t class_size, bool has_copies,
                             std::uint64_t seed, std::size_t class_number) {
    if (!has_copies) return place;
    return shuffled(place, class_size, key_of(key_of(seed, kShuffleBranch), class_number));
}

std::vector<std::int64_t> rows_up_to(const std::uint64_t* hashes, const std::uint8_t* labels,
                                     std::size_t n, const std::uint64_t* bounds, ThreadPool& pool) {
    std::vector<std::vector<std::int64_t>> found(n / kRowsPerBlock + 1);
    run_blocks(pool, n, kRowsPerBlock, [&](std::size_t first, std::size_t last) {
        std::vector<std::int64_t>& some = found[first / kRowsPerBlock];
        for (std::size_t row = first; row < last; ++row)
            if (hashes[row] <= bounds[labels[row]]) some.push_back(static_cast<std::int64_t>(row));
    });
    std::vector<std::int64_t> rows;
    for (const auto& some : found) rows.insert(rows.end(), some.begin(), some.end());
    return rows;
}

Unfilled<std::int32_t> assign_folds(const std::uint64_t* hashes, std::size_t n_rows,
                                    const std::uint8_t* labels, const std::int64_t* units,
                                    std::size_t n_classes, std::int32_t n_folds, std::uint64_t seed,
                                    ThreadPool& pool) {
    std::vector<std::size_t> starts;
    Unfilled<HashedRow> rows = into_buckets(hashes, n_rows, labels, n_classes, starts, pool);
    std::vector<std::uint8_t> copies(n_classes * kBuckets);
    pool.run(copies.size(), [&](std::size_t bucket) {
        HashedRow *first = rows.data() + starts[bucket], *last = rows.data() + starts[bucket + 1];
        BucketSort(units).sort(first, starts[bucket + 1] - starts[bucket]);
        const auto equal = [](const HashedRow& x, const HashedRow& y) { return x.hash == y.hash; };
        copies[bucket] = std::adjacent_find(first, last, equal) != last;
    });
    Unfilled<std::int32_t> fold(n_rows);
    for (std::size_t k = 0; k < n_classes; ++k) {
        const auto of_class = copies.begin() + static_cast<std::ptrdiff_t>(k * kBuckets);
        const bool has_copies = std::find(of_class, of_class + kBuckets, 1) != of_class + kBuckets;
        const std::size_t first = starts[k * kBuckets], n = starts[(k + 1) * kBuckets] - first;
        run_blocks(pool, n, kRowsPerBlock, [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i)
                fold[rows[first + i].row] =
                    static_cast<std::int32_t>(place_in_class(i, n, has_copies, seed, k) %
                                              static_cast<std::uint64_t>(n_folds));
        });
    }
    return fold;
}

template Unfilled<std::uint64_t> row_hashes(const CodeMatrix<std::uint8_t>&, const std::uint8_t*,
                                            std::uint64_t, ThreadPool&);
template Unfilled<std::uint64_t> row_hashes(const CodeMatrix<std::uint16_t>&, const std::uint8_t*,
                                            std::uint64_t, ThreadPool&);

}  // namespace treerank
