// A bitwise hash of results, and the list of results that the test prints.
#pragma once

#include <bit>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "core/data/types.hpp"
#include "core/util/thread_pool.hpp"

namespace treerank {

// FNV-1a over the bytes. Only for types without padding.
class Digest {
  public:
    template <class T>
    void add(const T* values, std::size_t n) {
        static_assert(std::is_trivially_copyable_v<T>);
        static_assert(std::endian::native == std::endian::little);
        const auto* bytes = reinterpret_cast<const unsigned char*>(values);
        for (std::size_t i = 0; i < n * sizeof(T); ++i) hash_ = (hash_ ^ bytes[i]) * kPrime;
    }
    template <class T>
    void add(const std::vector<T>& values) {
        const std::uint64_t n = values.size();
        add(&n, 1);
        add(values.data(), values.size());
    }
    std::uint64_t value() const { return hash_; }

  private:
    static constexpr std::uint64_t kPrime = 1099511628211ULL;
    std::uint64_t hash_ = 14695981039346656037ULL;
};

inline void add_tree(Digest& digest, const RankTree& tree) {
    digest.add(tree.cells);
    digest.add(tree.cell_weight);
    digest.add(tree.tests);
    digest.add(tree.test_weight);
    digest.add(tree.category_sets);
}

// Prints one line per result. Each is computed with one thread and with three, which must agree.
class Results {
  public:
    void add(const std::string& name, const std::function<Digest(ThreadPool&)>& compute) {
        ThreadPool alone(1), three(3);
        const std::uint64_t hash = compute(alone).value();
        if (compute(three).value() != hash) {
            std::printf("%s depends on the number of threads\n", name.c_str());
            failed_ = true;
        }
        std::printf("%s %016llx\n", name.c_str(), static_cast<unsigned long long>(hash));
    }
    void fail(const std::string& why) {
        std::printf("%s\n", why.c_str());
        failed_ = true;
    }
    bool failed() const { return failed_; }

  private:
    bool failed_ = false;
};

void add_trees(Results& results);
void add_level_growth(Results& results);
void add_forests(Results& results);
void add_boosting(Results& results);
void add_geometry(Results& results);

}  // namespace treerank
