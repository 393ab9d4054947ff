#include "core/prune/area_path.hpp"

#include <bit>

namespace treerank {

AreaUnderCurve::AreaUnderCurve(std::size_t n_places, const std::int64_t* total)
    : total_{total[0], total[1]}, at_(n_places), tree_(n_places + 1) {}

void AreaUnderCurve::place(std::size_t place, const std::int64_t* weight) {
    at_[place].negative += weight[0];
    at_[place].positive += weight[1];
    positives_ += weight[1];
}

void AreaUnderCurve::build() {
    std::int64_t worse = 0;  // negatives at worse places
    for (std::size_t i = 0; i < at_.size(); ++i) {
        area_ += static_cast<Whole>(at_[i].positive) * (2 * worse + at_[i].negative);
        worse += at_[i].negative;
    }
    for (std::size_t i = 1; i < tree_.size(); ++i) {
        tree_[i].negative += at_[i - 1].negative;
        tree_[i].positive += at_[i - 1].positive;
        const std::size_t next = i + (i & -i);
        if (next >= tree_.size()) continue;
        tree_[next].negative += tree_[i].negative;
        tree_[next].positive += tree_[i].positive;
    }
}

void AreaUnderCurve::change(std::size_t place, std::int64_t negative, std::int64_t positive) {
    if (negative == 0 && positive == 0) return;
    Pair worse;
    for (std::size_t i = place; i > 0; i &= i - 1) {
        worse.negative += tree_[i].negative;
        worse.positive += tree_[i].positive;
    }
    const Pair here = at_[place];
    const std::int64_t better = positives_ - worse.positive - here.positive;
    area_ += static_cast<Whole>(positive) * (2 * worse.negative + here.negative) +
             static_cast<Whole>(negative) * (2 * better + here.positive) +
             static_cast<Whole>(negative) * positive;
    at_[place].negative += negative;
    at_[place].positive += positive;
    positives_ += positive;
    for (std::size_t i = place + 1; i < tree_.size(); i += i & -i) {
        tree_[i].negative += negative;
        tree_[i].positive += positive;
    }
}

double AreaUnderCurve::value() const {
    return static_cast<double>(area_) /
           (2 * static_cast<double>(total_.negative) * static_cast<double>(total_.positive));
}

namespace {

// The start of row i of a packed upper triangular matrix with `order` rows, minus i.
std::size_t row_start(std::size_t i, std::size_t order) { return i * order - i * (i + 1) / 2; }

}  // namespace

VolumeUnderSurface::VolumeUnderSurface(std::size_t n_places, const std::int64_t* total,
                                       std::size_t n_classes)
    : n_classes_(n_classes),
      n_leaves_(std::bit_ceil(n_places)),
      size_((n_classes + 1) * (n_classes + 2) / 2),
      total_(total, total + n_classes),
      at_(n_places * n_classes),
      matrices_(2 * n_leaves_ * size_) {
    // Without weight, every matrix is the identity.
    const std::size_t order = n_classes_ + 1;
    for (std::size_t node = 1; node < 2 * n_leaves_; ++node)
        for (std::size_t i = 0; i < order; ++i) matrix(node)[row_start(i, order) + i] = 1;
}

void VolumeUnderSurface::place(std::size_t place, const std::int64_t* weight) {
    for (std::size_t k = 0; k < n_classes_; ++k) at_[place * n_classes_ + k] += weight[k];
}

void VolumeUnderSurface::build() {
    for (std::size_t place = 0; place < at_.size() / n_classes_; ++place) fill(place);
    for (std::size_t node = n_leaves_; node-- > 1;) multiply(node);
}

void VolumeUnderSurface::add(std::size_t place, const std::int64_t* weight) {
    this->place(place, weight);
    update(place);
}

void VolumeUnderSurface::remove(std::size_t place, const std::int64_t* weight) {
    for (std::size_t k = 0; k < n_classes_; ++k) at_[place * n_classes_ + k] -= weight[k];
    update(place);
}

double VolumeUnderSurface::value() const { return matrices_[size_ + n_classes_]; }

// S(c)[i, j] = c_{i+1} ... c_j / (j - i)!
void VolumeUnderSurface::fill(std::size_t place) {
    const std::size_t order = n_classes_ + 1;
    const std::int64_t* weight = at_.data() + place * n_classes_;
    double* of = matrix(n_leaves_ + place);
    for (std::size_t i = 0; i < order; ++i) {
        double tied = 1;
        for (std::size_t j = i + 1; j < order; ++j) {
            tied *= static_cast<double>(weight[j - 1]) / total_[j - 1] / static_cast<double>(j - i);
            of[row_start(i, order) + j] = tied;
        }
    }
}

void VolumeUnderSurface::multiply(std::size_t node) {
    const std::size_t order = n_classes_ + 1;
    const double* worse = matrix(2 * node);
    const double* better = matrix(2 * node + 1);
    double* product = matrix(node);
    for (std::size_t i = 0; i < order; ++i) {
        double* row = product + row_start(i, order);
        for (std::size_t j = i; j < order; ++j) row[j] = 0;
        for (std::size_t k = i; k < order; ++k) {
            const double factor = worse[row_start(i, order) + k];
            if (factor == 0) continue;
            const double* from = better + row_start(k, order);
            for (std::size_t j = k; j < order; ++j) row[j] += factor * from[j];
        }
    }
}

void VolumeUnderSurface::update(std::size_t place) {
    fill(place);
    for (std::size_t node = (n_leaves_ + place) / 2; node >= 1; node /= 2) multiply(node);
}

}  // namespace treerank
