// A contiguous copy of the rows of one node, used for all nodes below it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "core/data/row_view.hpp"
#include "core/data/types.hpp"

namespace treerank {

// Fewer bytes of codes stay in a core's nearest cache, wherever they are.
inline constexpr std::size_t kNearBytes = 4096;

// While the object lives, rows[0, n) are numbered in a view of their own, whose codes are stored
// row by row without gaps. The destructor restores the old numbers. The rows may be permuted in
// between.
template <class Code>
class DenseRows {
  public:
    // Whether copying n rows of a view pays: they are few enough to be scattered, but not so few
    // that copying them takes as long as reading them in place.
    static bool pays(const View<Code>& from, std::size_t n) {
        const CodeMatrix<Code>& codes = from.codes_for(n);
        return codes.step > 1 && n * kScattered < codes.rows &&
               n * codes.features * sizeof(Code) >= kNearBytes;
    }

    DenseRows(const View<Code>& from, Row* rows, std::size_t n)
        : rows_(rows), old_number_(std::make_unique_for_overwrite<std::uint32_t[]>(n)), n_(n) {
        const CodeMatrix<Code>& codes = from.codes_for(n);
        const std::size_t p = codes.features;
        view_.own_codes = std::make_unique_for_overwrite<Code[]>(n * p);
        for (std::size_t i = 0; i < n; ++i) {
            const std::uint32_t old = row_id(rows[i]);
            old_number_[i] = old;
            copy_row(codes.data + old * codes.step, p * sizeof(Code),
                     view_.own_codes.get() + i * p);
        }
        view_.copy_weights(from, rows, n);
        for (std::size_t i = 0; i < n; ++i) rows[i] = renumbered(rows[i], static_cast<Row>(i));
        view_.codes = {view_.own_codes.get(), n, p, 1, p};
    }
    ~DenseRows() {
        for (std::size_t i = 0; i < n_; ++i)
            rows_[i] = renumbered(rows_[i], old_number_[row_id(rows_[i])]);
    }
    DenseRows(const DenseRows&) = delete;
    DenseRows& operator=(const DenseRows&) = delete;

    const View<Code>& view() const { return view_; }

  private:
    // Copies words, the last of which may overlap the one before: a function call would take longer
    // than the copy.
    static void copy_row(const Code* from, std::size_t bytes, Code* to) {
        using Word = std::uint64_t;
        const auto* source = reinterpret_cast<const std::byte*>(from);
        auto* target = reinterpret_cast<std::byte*>(to);
        if (bytes < sizeof(Word)) {
            for (std::size_t b = 0; b < bytes; ++b) target[b] = source[b];
            return;
        }
        for (std::size_t b = 0; b + sizeof(Word) < bytes; b += sizeof(Word))
            std::memcpy(target + b, source + b, sizeof(Word));
        const std::size_t last = bytes - sizeof(Word);
        std::memcpy(target + last, source + last, sizeof(Word));
    }

    Row* rows_;
    std::unique_ptr<std::uint32_t[]> old_number_;
    std::size_t n_;
    View<Code> view_;
};

}  // namespace treerank
