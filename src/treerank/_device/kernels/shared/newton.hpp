// The Newton gain of a cut, for boosting. Shared by the core (core/split/newton_split.hpp) and the
// GPU kernels; both define GradientSum.

// A side with a smaller hessian has too uncertain a value.
constexpr double kLeastHessian = 1e-3;
// Smaller gains are rounding errors.
constexpr double kLeastGain = 1e-10;

inline double infinity() { return double_of(0x7ff0000000000000ull); }

// Bounds on the value of a node, so that a constrained feature moves scores in one direction only.
struct Bounds {
    double lower = -infinity();
    double upper = infinity();

    bool free() const { return lower == -infinity() && upper == infinity(); }
    double clip(double value) const {
        return value < lower ? lower : upper < value ? upper : value;
    }
};

struct NewtonScale {
    double gradient_unit, hessian_unit, l2;

    double gradient(const GradientSum& sum) const { return (double)sum.gradient * gradient_unit; }
    double hessian(const GradientSum& sum) const { return (double)sum.hessian * hessian_unit; }
    static double at_least(double value, double least) { return value < least ? least : value; }
    double curvature(double hessian) const { return at_least(hessian + l2, kLeastHessian); }
    double value(const GradientSum& sum) const { return -gradient(sum) / curvature(hessian(sum)); }
    // Gradient per hessian, without the penalty.
    double mean(const GradientSum& sum) const {
        return gradient(sum) / at_least(hessian(sum), kLeastHessian);
    }
    // Twice the decrease of the loss, to second order, if all rows of the node take its value, or
    // the nearest value within the bounds. `g` and `h` are the sums of gradients and hessians.
    double gain(double g, double h, const Bounds& bounds) const {
        if (bounds.free()) return g * g / curvature(h);
        const double wanted = -g / curvature(h), v = bounds.clip(wanted);
        if (v == wanted) return g * g / curvature(h);
        return -v * (2 * g + curvature(h) * v);
    }
    double gain(const GradientSum& sum, const Bounds& bounds) const {
        return gain(gradient(sum), hessian(sum), bounds);
    }
    // The variance of what a row adds to the gradient beyond the node's mean, where a row is
    // `independent_weight` units of weight. `gg`, `gh` and `hh` are sums of products of gradients
    // and hessians without their last `shift` bits.
    double row_variance(const GradientSum& node, double gg, double gh, double hh,
                        double independent_weight, int shift) const {
        const double short_unit = independent_weight * (double)(1ll << shift);
        const double g_unit = gradient_unit * short_unit;
        const double h_unit = mean(node) * hessian_unit * short_unit;
        const double sum = g_unit * g_unit * gg - 2 * g_unit * h_unit * gh + h_unit * h_unit * hh;
        return sum / (double)node.weight;
    }
};

// A node whose cuts are compared.
struct NewtonNode {
    GradientSum node;
    Bounds bounds;
    NewtonScale scale;
    i64 min_weight;
    double node_gain;  // the gain of the node without a split

    bool admissible(const GradientSum& left, const GradientSum& right) const {
        return left.weight >= min_weight && right.weight >= min_weight &&
               scale.hessian(left) >= kLeastHessian && scale.hessian(right) >= kLeastHessian;
    }
    // Returns the gain of a cut; 0 if it is not admissible. `sign`: whether values may only rise
    // (+1) or only fall (-1) from left to right; 0: no constraint. Free: there is neither a sign
    // nor bounds.
    template <bool Free>
    double gain_of(const GradientSum& left, int sign) const {
        const GradientSum right = node - left;
        if (!admissible(left, right)) return 0;
        if constexpr (Free) {
            const double g = scale.gradient(left), h = scale.hessian(left);
            const double other_g = scale.gradient(right), other_h = scale.hessian(right);
            return g * g / scale.curvature(h) + other_g * other_g / scale.curvature(other_h) -
                   node_gain;
        }
        if (sign != 0) {
            const double rise = bounds.clip(scale.value(right)) - bounds.clip(scale.value(left));
            if (sign * rise <= 0) return 0;
        }
        return scale.gain(left, bounds) + scale.gain(right, bounds) - node_gain;
    }
};
