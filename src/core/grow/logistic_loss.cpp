#include "core/grow/logistic_loss.hpp"

#include "core/util/sigmoid.hpp"

namespace treerank {

void logistic_derivatives(const double* scores, const std::uint8_t* labels, std::size_t n,
                          double* first, double* second) {
    for (std::size_t i = 0; i < n; ++i) {
        const double share = sigmoid(scores[i]);
        first[i] = share - labels[i];
        second[i] = share * (1 - share);
    }
}

}  // namespace treerank
