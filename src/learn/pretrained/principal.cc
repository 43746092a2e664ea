#include "learn/pretrained/principal.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/core/error.h"
#include "base/core/philox.h"

namespace hone {
namespace {

using Doubles = std::vector<double>;

size_t at(int64_t i) { return static_cast<size_t>(i); }

template <class X, class Y>
double dot(const X* x, const Y* y, int64_t n) {
  constexpr int64_t kLanes = 8;  // sums that a compiler keeps in vectors
  double sums[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int64_t k = 0; k < kLanes; ++k)
      sums[k] += static_cast<double>(x[i + k]) * static_cast<double>(y[i + k]);
  for (; i < n; ++i) sums[0] += static_cast<double>(x[i]) * static_cast<double>(y[i]);
  double sum = 0;
  for (const double s : sums) sum += s;
  return sum;
}

void add_scaled(double* x, double by, const double* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] += by * y[i];
}

// The matrix with its shorter side as rows: X [k, l].
struct WideMatrix {
  int64_t rows, columns;
  bool turned;
  std::vector<float> x;
  const float* row(int64_t i) const { return x.data() + i * columns; }
};

WideMatrix wide_matrix(std::span<const float> w, int64_t m, int64_t n) {
  WideMatrix out{std::min(m, n), std::max(m, n), m > n, {w.begin(), w.end()}};
  if (!out.turned) return out;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) out.x[at(j * m + i)] = w[at(i * n + j)];
  return out;
}

// The eigenvalues of a symmetric tridiagonal matrix: `diagonal`, and beside[i] between i and i + 1.
struct Tridiagonal {
  Doubles diagonal, beside;
  int64_t size() const { return std::ssize(diagonal); }
  double bound() const {  // Gershgorin's
    double most = 0;
    for (int64_t i = 0; i < size(); ++i) {
      double sum = std::abs(diagonal[at(i)]);
      if (i > 0) sum += std::abs(beside[at(i - 1)]);
      if (i + 1 < size()) sum += std::abs(beside[at(i)]);
      most = std::max(most, sum);
    }
    return most;
  }
  // Eigenvalues above x, by Sturm's sequence.
  int64_t above(double x) const {
    int64_t count = 0;
    double q = 1;
    for (int64_t i = 0; i < size(); ++i) {
      const double e = i > 0 ? beside[at(i - 1)] : 0;
      q = diagonal[at(i)] - x - (i > 0 ? e * e / q : 0);
      if (q == 0) q = std::numeric_limits<double>::min();
      count += q > 0;
    }
    return count;
  }
  double largest(int64_t which, double bound) const {
    double low = -bound, high = bound;
    for (int turn = 0; turn < 200 && low < high; ++turn) {
      const double middle = low + (high - low) / 2;
      if (middle == low || middle == high) break;
      (above(middle) > which ? low : high) = middle;
    }
    return high;
  }
  // x = (T - shift)^-1 x, by elimination with exchanged rows.
  void solve(double shift, double tiny, Doubles& x) const {
    const int64_t n = size();
    Doubles a(diagonal), up(at(n)), up2(at(n));
    for (int64_t i = 0; i < n; ++i) a[at(i)] -= shift;
    for (int64_t i = 0; i + 1 < n; ++i) up[at(i)] = beside[at(i)];
    for (int64_t i = 0; i + 1 < n; ++i) {
      double below = beside[at(i)];
      if (std::abs(below) > std::abs(a[at(i)])) {
        std::swap(below, a[at(i)]);
        std::swap(up[at(i)], a[at(i + 1)]);
        std::swap(up2[at(i)], up[at(i + 1)]);
        std::swap(x[at(i)], x[at(i + 1)]);
      }
      if (std::abs(a[at(i)]) < tiny) a[at(i)] = tiny;
      const double by = below / a[at(i)];
      a[at(i + 1)] -= by * up[at(i)];
      up[at(i + 1)] -= by * up2[at(i)];
      x[at(i + 1)] -= by * x[at(i)];
    }
    if (std::abs(a[at(n - 1)]) < tiny) a[at(n - 1)] = tiny;
    for (int64_t i = n - 1; i >= 0; --i) {
      double sum = x[at(i)];
      if (i + 1 < n) sum -= up[at(i)] * x[at(i + 1)];
      if (i + 2 < n) sum -= up2[at(i)] * x[at(i + 2)];
      x[at(i)] = sum / a[at(i)];
    }
  }
};

// Makes x orthogonal to `others`, twice, and of length 1; false: nothing is left.
bool make_orthogonal(Doubles& x, std::span<const Doubles> others) {
  const auto n = std::ssize(x);
  for (int turn = 0; turn < 2; ++turn)
    for (const Doubles& other : others)
      add_scaled(x.data(), -dot(other.data(), x.data(), n), other.data(), n);
  const double length = std::sqrt(dot(x.data(), x.data(), n));
  if (!(length > std::numeric_limits<double>::min())) return false;
  for (double& v : x) v /= length;
  return true;
}

// A symmetric matrix [n,n] turned to tridiagonal form, with the reflections that do it.
struct Reduced {
  Tridiagonal form;
  std::vector<Doubles> reflections;  // of rows j + 1 and on
  Doubles factors;

  // The vector of the matrix that belongs to x of the form.
  void turn_back(Doubles& x) const {
    for (int64_t j = std::ssize(reflections) - 1; j >= 0; --j) {
      const Doubles& v = reflections[at(j)];
      double* rest = x.data() + j + 1;
      add_scaled(rest, -factors[at(j)] * dot(v.data(), rest, std::ssize(v)), v.data(),
                 std::ssize(v));
    }
  }
};

Reduced reduce(Doubles a, int64_t n, ThreadPool& threads) {
  Reduced out;
  for (int64_t j = 0; j < n; ++j) {
    out.form.diagonal.push_back(a[at(j * n + j)]);
    if (j + 1 == n) break;
    const int64_t rest = n - j - 1;
    Doubles v(at(rest));
    for (int64_t i = 0; i < rest; ++i) v[at(i)] = a[at((j + 1 + i) * n + j)];
    const double length = std::sqrt(dot(v.data(), v.data(), rest));
    const double end = v[0] > 0 ? -length : length;
    out.form.beside.push_back(rest == 1 ? v[0] : end);
    if (rest == 1) continue;
    v[0] -= end;
    const double square = dot(v.data(), v.data(), rest), by = square > 0 ? 2 / square : 0;
    Doubles p(at(rest));
    const auto row = [&](int64_t i) { return a.data() + (j + 1 + i) * n + j + 1; };
    threads.parallel_for(rest, [&](int64_t first, int64_t last, int) {
      for (int64_t i = first; i < last; ++i) p[at(i)] = by * dot(row(i), v.data(), rest);
    });
    add_scaled(p.data(), -by / 2 * dot(p.data(), v.data(), rest), v.data(), rest);
    threads.parallel_for(rest, [&](int64_t first, int64_t last, int) {
      for (int64_t i = first; i < last; ++i) {
        double* x = row(i);
        for (int64_t k = 0; k < rest; ++k) x[k] -= v[at(i)] * p[at(k)] + p[at(i)] * v[at(k)];
      }
    });
    out.reflections.push_back(std::move(v));
    out.factors.push_back(by);
  }
  return out;
}

// The `count` largest eigenvalues of a symmetric matrix [n,n] with their vectors.
struct Eigen {
  Doubles values;
  std::vector<Doubles> vectors;
};

Eigen largest_eigen(Doubles a, int64_t n, int64_t count, ThreadPool& threads) {
  const Reduced reduced = reduce(std::move(a), n, threads);
  constexpr double kLeast = 1e-100;  // below: a matrix of zeros, for which any vectors do
  const double size = reduced.form.bound(), bound = size > kLeast ? size : 1,
               step = 10 * std::numeric_limits<double>::epsilon() * bound;
  Eigen out;
  std::vector<Doubles> of_form;
  double before = std::numeric_limits<double>::infinity();
  PhiloxStream random(dropout_key(0, 0, scope_hash("eigenvectors")));
  for (int64_t k = 0; k < count; ++k) {
    const double value = reduced.form.largest(k, 2 * bound);
    const double shift = std::min(value, before - step);  // equal ones get vectors of their own
    before = shift;
    Doubles x(at(n));
    constexpr int kTurns = 4;
    for (int turn = 0, tries = 0; turn < kTurns; ++turn) {
      if (turn == 0)
        for (double& v : x) v = random.next_uniform() - 0.5;
      else
        reduced.form.solve(shift, step / 10, x);
      if (!make_orthogonal(x, of_form)) {
        HONE_BUG_IF(++tries > 10, "no vector is left for value {} of {}", k, n);
        turn = -1;
      }
    }
    out.values.push_back(value);
    of_form.push_back(x);
    reduced.turn_back(x);
    out.vectors.push_back(std::move(x));
  }
  return out;
}

// Products of all pairs of rows.
template <class Row>
Doubles gram(int64_t rows, int64_t columns, Row row, ThreadPool& threads) {
  Doubles g(at(rows * rows));
  // Rows i and rows - 1 - i together have as many products as any other two.
  threads.parallel_for((rows + 1) / 2, [&](int64_t first, int64_t last, int) {
    for (int64_t half = first; half < last; ++half)
      for (const int64_t i : {half, rows - 1 - half})
        for (int64_t j = 0; j <= i; ++j)
          g[at(i * rows + j)] = g[at(j * rows + i)] = dot(row(i), row(j), columns);
  });
  return g;
}

// Vectors of X's rows and columns as those of the matrix [m, n].
PrincipalParts parts_of(const WideMatrix& x, const Doubles& values,
                        const std::vector<Doubles>& of_rows, const std::vector<Doubles>& of_columns,
                        int64_t r) {
  const auto& left = x.turned ? of_columns : of_rows;
  const auto& right = x.turned ? of_rows : of_columns;
  const int64_t m = x.turned ? x.columns : x.rows, n = x.turned ? x.rows : x.columns;
  PrincipalParts out{Doubles(at(m * r)), Doubles(at(r)), Doubles(at(r * n))};
  for (int64_t k = 0; k < std::ssize(values); ++k) {
    out.values[at(k)] = values[at(k)];
    if (values[at(k)] == 0) continue;
    for (int64_t i = 0; i < m; ++i) out.left[at(i * r + k)] = left[at(k)][at(i)];
    std::copy(right[at(k)].begin(), right[at(k)].end(), out.right.begin() + k * n);
  }
  return out;
}

// x^T v, for rows of x that a caller gives.
template <class Row>
Doubles turned_product(int64_t rows, int64_t columns, Row row, const Doubles& v) {
  Doubles sum(at(columns));
  for (int64_t i = 0; i < rows; ++i) {
    const auto* from = row(i);
    const double by = v[at(i)];
    for (int64_t j = 0; j < columns; ++j) sum[at(j)] += by * static_cast<double>(from[j]);
  }
  return sum;
}

// The singular values and the vectors of columns, from the vectors of rows.
template <class Row>
std::vector<Doubles> other_side(int64_t rows, int64_t columns, Row row, const Eigen& eigen,
                                Doubles& values, ThreadPool& threads) {
  const auto count = std::ssize(eigen.vectors);
  std::vector<Doubles> others(at(count));
  values.assign(at(count), 0);
  threads.parallel_for(count, [&](int64_t first, int64_t last, int) {
    for (int64_t k = first; k < last; ++k) {
      others[at(k)] = turned_product(rows, columns, row, eigen.vectors[at(k)]);
      values[at(k)] = std::sqrt(dot(others[at(k)].data(), others[at(k)].data(), columns));
    }
  });
  const double least = 1e-12 * (count > 0 ? values[0] : 0);
  for (int64_t k = 0; k < count; ++k) {
    double& value = values[at(k)];
    if (value <= least) value = 0;
    for (double& v : others[at(k)]) v = value > 0 ? v / value : 0;
  }
  return others;
}

}  // namespace

PrincipalParts principal_parts(std::span<const float> w, int64_t m, int64_t n, int64_t r,
                               ThreadPool& threads) {
  const WideMatrix x = wide_matrix(w, m, n);
  const auto row = [&](int64_t i) { return x.row(i); };
  const Eigen eigen =
      largest_eigen(gram(x.rows, x.columns, row, threads), x.rows, std::min(r, x.rows), threads);
  Doubles values;
  const std::vector<Doubles> columns = other_side(x.rows, x.columns, row, eigen, values, threads);
  return parts_of(x, values, eigen.vectors, columns, r);
}

PrincipalParts principal_parts_by_iteration(std::span<const float> w, int64_t m, int64_t n,
                                            int64_t r, int64_t iterations, uint64_t seed,
                                            ThreadPool& threads) {
  const WideMatrix x = wide_matrix(w, m, n);
  const int64_t count = std::min(r, x.rows);
  PhiloxStream random(dropout_key(seed, 0, scope_hash("principal_parts")));
  std::vector<Doubles> of_rows(at(count), Doubles(at(x.rows))), basis(at(count));
  for (Doubles& v : of_rows)
    for (double& number : v) number = random.next_normal();
  const auto row = [&](int64_t i) { return x.row(i); };
  // A vector that falls into the others begins again as a unit vector.
  const auto orthogonal = [](std::vector<Doubles>& all) {
    for (size_t k = 0; k < all.size(); ++k)
      for (size_t unit = 0; !make_orthogonal(all[k], std::span(all).first(k)); ++unit) {
        HONE_BUG_IF(unit >= all[k].size(), "{} vectors of {} numbers", all.size(), all[k].size());
        std::fill(all[k].begin(), all[k].end(), 0.0);
        all[k][unit] = 1;
      }
  };
  const auto to_rows = [&] {
    threads.parallel_for(x.rows, [&](int64_t first, int64_t last, int) {
      for (int64_t i = first; i < last; ++i)
        for (int64_t k = 0; k < count; ++k)
          of_rows[at(k)][at(i)] = dot(x.row(i), basis[at(k)].data(), x.columns);
    });
  };
  for (int64_t turn = 0;; ++turn) {
    threads.parallel_for(count, [&](int64_t first, int64_t last, int) {
      for (int64_t k = first; k < last; ++k)
        basis[at(k)] = turned_product(x.rows, x.columns, row, of_rows[at(k)]);
    });
    orthogonal(basis);
    to_rows();
    if (turn == iterations) break;
    orthogonal(of_rows);
  }
  // The rows of `of_rows` are basis^T X^T: [count, k], of which the values are nearly X's.
  const auto small = [&](int64_t k) { return of_rows[at(k)].data(); };
  const Eigen eigen = largest_eigen(gram(count, x.rows, small, threads), count, count, threads);
  Doubles values;
  const std::vector<Doubles> rows = other_side(count, x.rows, small, eigen, values, threads);
  std::vector<Doubles> columns(at(count));
  for (int64_t k = 0; k < count; ++k)
    columns[at(k)] = turned_product(
        count, x.columns, [&](int64_t i) { return basis[at(i)].data(); }, eigen.vectors[at(k)]);
  return parts_of(x, values, rows, columns, r);
}

}  // namespace hone
