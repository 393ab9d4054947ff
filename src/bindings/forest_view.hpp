// The arrays of a forest as passed from Python, checked before they are used as indices.
#pragma once

#include "bindings/arrays.hpp"
#include "core/tree/forest.hpp"

namespace treerank {

using Slots = Records;

[[noreturn]] inline void raise_damaged() {
    throw nb::value_error("forest: it is damaged, or was fitted to other features");
}

// Checks that the arrays match, but not the contents of the slots. `step`, `weight` and `at_end`
// may be null.
inline ForestView unchecked_view(const Vector<std::int64_t>& starts, const Slots& slots,
                                 const Vector<float>* step, const Vector<float>* weight,
                                 const Vector<std::int32_t>& set_of, const Records& sets,
                                 const Vector<std::uint8_t>* at_end) {
    const std::size_t n = slots.shape(0);
    ForestView view;
    if (starts.size() < 2 || starts.data()[0] != 0 || slots.shape(1) != sizeof(Slot) ||
        sets.shape(1) != sizeof(CategorySet) || (step != nullptr && step->size() != n) ||
        starts.data()[starts.size() - 1] != static_cast<std::int64_t>(n) ||
        (weight != nullptr && weight->size() != n) || (set_of.size() != 0 && set_of.size() != n) ||
        (at_end != nullptr && at_end->size() + 1 != starts.size()))
        throw nb::value_error("forest: arrays that do not fit together");
    view.slots = reinterpret_cast<const Slot*>(slots.data());
    view.step = data_of(step);
    view.weight = data_of(weight);
    view.set_of = set_of.size() != 0 ? set_of.data() : nullptr;
    view.category_sets = reinterpret_cast<const CategorySet*>(sets.data());
    view.n_sets = sets.shape(0);
    view.starts = starts.data();
    view.at_end = data_of(at_end);
    view.n_trees = starts.size() - 1;
    for (std::size_t t = 0; t < view.n_trees; ++t)
        if (starts.data()[t] >= starts.data()[t + 1])
            throw nb::value_error("forest: arrays that do not fit together");
    return view;
}

// A view of the slots of trees only, without the other arrays that walks need.
inline ForestView slots_alone(const Vector<std::int64_t>& starts, const Slots& slots) {
    const Vector<std::int32_t> no_sets(nullptr, {0});
    const Records empty(nullptr, {0, sizeof(CategorySet)});
    return unchecked_view(starts, slots, nullptr, nullptr, no_sets, empty, nullptr);
}

// Throws unless every walk stays inside the arrays and terminates. Does not need the GIL.
inline void check_slots(const ForestView& view, std::size_t n_features, ThreadPool* pool) {
    if (!is_sound(view, n_features, pool)) raise_damaged();
}

// unchecked_view() with the slots checked by the calling thread.
inline ForestView forest_view(const Vector<std::int64_t>& starts, const Slots& slots,
                              const Vector<float>* step, const Vector<float>* weight,
                              const Vector<std::int32_t>& set_of, const Records& sets,
                              const Vector<std::uint8_t>* at_end, std::size_t n_features) {
    const ForestView view = unchecked_view(starts, slots, step, weight, set_of, sets, at_end);
    check_slots(view, n_features, nullptr);
    return view;
}

}  // namespace treerank
