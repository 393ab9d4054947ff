// Compiled once per instruction set, which TREERANK_ISA names.
#include "core/grow/logistic_kernel_isa.hpp"

#include "core/util/sigmoid.hpp"

namespace treerank::TREERANK_ISA {

void logistic_derivatives(const double* __restrict scores, const std::uint8_t* __restrict labels,
                          std::size_t n, double* __restrict first, double* __restrict second) {
    for (std::size_t i = 0; i < n; ++i) first[i] = sigmoid(scores[i]);
    for (std::size_t i = 0; i < n; ++i) {
        second[i] = first[i] * (1 - first[i]);
        first[i] -= labels[i];
    }
}

// Vector types of GCC and Clang: the compilers do not vectorise a loop of comparisons by
// themselves.
constexpr std::size_t kLanes = 8;
typedef double Doubles __attribute__((vector_size(kLanes * sizeof(double))));
typedef std::int64_t Words __attribute__((vector_size(kLanes * sizeof(std::int64_t))));
typedef std::uint8_t Bytes __attribute__((vector_size(kLanes)));

ExtremeScores extreme_scores(const double* scores, const std::uint8_t* labels, std::size_t n) {
    const Doubles none = Doubles{} + ExtremeScores::kNone;
    Doubles least = none, largest = -none, from_zero = none;  // of positives, negatives, all
    for (std::size_t i = 0; i < n; i += kLanes) {
        Doubles score = Doubles{} + scores[i];  // lanes past the last row repeat a row
        Bytes label = Bytes{} + labels[i];
        if (i + kLanes <= n) {
            __builtin_memcpy(&score, scores + i, sizeof score);
            __builtin_memcpy(&label, labels + i, sizeof label);
        } else {
            for (std::size_t k = 0; i + k < n; ++k) {
                score[k] = scores[i + k];
                label[k] = labels[i + k];
            }
        }
        const Words positive = __builtin_convertvector(label, Words) != 0;
        const Doubles of_positive = positive ? score : none;
        const Doubles of_negative = positive ? -none : score;
        const Doubles distance = score < 0 ? -score : score;
        least = of_positive < least ? of_positive : least;
        largest = of_negative > largest ? of_negative : largest;
        from_zero = distance < from_zero ? distance : from_zero;
    }
    ExtremeScores found;
    for (std::size_t k = 0; k < kLanes; ++k) {
        found.of_positives = least[k] < found.of_positives ? least[k] : found.of_positives;
        found.of_negatives = largest[k] > found.of_negatives ? largest[k] : found.of_negatives;
        found.from_zero = from_zero[k] < found.from_zero ? from_zero[k] : found.from_zero;
    }
    return found;
}

}  // namespace treerank::TREERANK_ISA
