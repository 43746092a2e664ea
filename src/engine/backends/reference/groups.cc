// Largest elements, rows by group, and their products.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/backends/reference/numbers.h"

namespace hone::reference {
namespace {

void top_k(const Call& c, const KernelArgs& a) {
  const Numbers x = load(a.in[0], c.in[0]);
  const int64_t rows = c.in[0].shape[0], columns = c.in[0].shape[1], k = c.attrs.integer("k");
  Numbers values, places;
  std::vector<int64_t> order(static_cast<size_t>(columns));
  for (int64_t t = 0; t < rows; ++t) {
    const auto at = [&](int64_t j) { return x[static_cast<size_t>(t * columns + j)]; };
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
      return std::isnan(at(i)) ? !std::isnan(at(j)) : at(i) > at(j);
    });
    for (int64_t j = 0; j < k; ++j) {
      places.push_back(static_cast<double>(order[static_cast<size_t>(j)]));
      values.push_back(at(order[static_cast<size_t>(j)]));
    }
  }
  store(values, a.out[0], c.out[0]);
  store(places, a.out[1], c.out[1]);
}

void group_rows(const Call& c, const KernelArgs& a) {
  const auto* ids = static_cast<const int32_t*>(a.in[0]);
  const int64_t count = c.in[0].count(), groups = c.attrs.integer("groups"),
                each = c.attrs.integer("each", 1);
  auto *rows = static_cast<int32_t*>(a.out[0]), *places = static_cast<int32_t*>(a.out[1]),
       *starts = static_cast<int32_t*>(a.out[2]), *group = static_cast<int32_t*>(a.out[3]);
  int32_t place = 0;
  for (int64_t g = 0; g < groups; ++g) {
    starts[g] = place;
    for (int64_t r = 0; r < count; ++r) {
      HONE_BUG_IF(ids[r] < 0 || ids[r] >= groups, "group_rows: id {} of {} groups", ids[r], groups);
      if (ids[r] != g) continue;
      rows[place] = static_cast<int32_t>(r / each);
      group[place] = static_cast<int32_t>(g);
      places[r] = place++;
    }
  }
  starts[groups] = place;
}

double rounded(const Call& c, double v) {
  if (c.attrs.flag("bf16"))
    return static_cast<double>(bf16_to_f32(f32_to_bf16(static_cast<float>(v))));
  if (c.attrs.flag("f16"))
    return static_cast<double>(f16_to_f32(f32_to_f16(static_cast<float>(v))));
  return v;
}

Numbers load_rounded(const Call& c, const KernelArgs& a, size_t i) {
  Numbers x = load(a.in[i], c.in[i]);
  for (double& v : x) v = rounded(c, v);
  return x;
}

// Calls f(group, row) for each row of each group.
template <class F>
void each_row(const Call& c, const KernelArgs& a, F&& f) {
  const auto* starts = static_cast<const int32_t*>(a.in[2]);
  const int64_t groups = c.in[2].count() - 1, rows = c.in[0].shape[0];
  HONE_BUG_IF(starts[0] != 0 || starts[groups] != rows, "groups of {} to {} of {} rows", starts[0],
              starts[groups], rows);
  for (int64_t g = 0; g < groups; ++g)
    for (int64_t r = starts[g]; r < starts[g + 1]; ++r) f(g, r);
}

void grouped_matmul(const Call& c, const KernelArgs& a) {
  const Numbers x = load_rounded(c, a, 0), w = load_rounded(c, a, 1);
  Numbers y(static_cast<size_t>(c.out[0].count()), 0.0);
  const bool trans = c.attrs.flag("trans_w");
  const int64_t k = c.in[0].shape[1], m = c.out[0].shape[1];
  each_row(c, a, [&](int64_t g, int64_t r) {
    const double* of_group = w.data() + g * k * m;
    for (int64_t j = 0; j < m; ++j)
      for (int64_t l = 0; l < k; ++l)
        y[static_cast<size_t>(r * m + j)] +=
            x[static_cast<size_t>(r * k + l)] * of_group[trans ? j * k + l : l * m + j];
  });
  store(y, a.out[0], c.out[0]);
}

void grouped_outer(const Call& c, const KernelArgs& a) {
  const Numbers x = load_rounded(c, a, 0), y = load_rounded(c, a, 1);
  Numbers z = c.in.size() > 3 && a.in[3] ? load(a.in[3], c.in[3])
                                         : Numbers(static_cast<size_t>(c.out[0].count()), 0.0);
  const int64_t k = c.in[0].shape[1], m = c.in[1].shape[1];
  each_row(c, a, [&](int64_t g, int64_t r) {
    for (int64_t l = 0; l < k; ++l)
      for (int64_t j = 0; j < m; ++j)
        z[static_cast<size_t>((g * k + l) * m + j)] +=
            x[static_cast<size_t>(r * k + l)] * y[static_cast<size_t>(r * m + j)];
  });
  store(z, a.out[0], c.out[0]);
}

}  // namespace

void add_groups(Table& t) {
  t["top_k"] = top_k;
  t["group_rows"] = group_rows;
  t["grouped_matmul"] = grouped_matmul;
  t["grouped_outer"] = grouped_outer;
}

}  // namespace hone::reference
