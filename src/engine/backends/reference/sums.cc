// Reductions, matrix products and scatter-adds in double precision.
#include "engine/backends/reference/numbers.h"

namespace hone::reference {
namespace {

// Strides that map element i of the input to its place in the result: the kept dimensions,
// row-major.
std::vector<int64_t> reduced_strides(const Call& c) {
  std::vector<int64_t> axes = c.attrs.integers("axes"), kept = strides_of(c.out[0].shape), step;
  size_t next = 0;
  for (int64_t d = 0; d < c.in[0].rank(); ++d)
    step.push_back(std::find(axes.begin(), axes.end(), d) == axes.end() ? kept[next++] : 0);
  return step;
}

void reduce(const Call& c, const KernelArgs& a, double start, double (*f)(double, double)) {
  Numbers x = load(a.in[0], c.in[0]), y(static_cast<size_t>(c.out[0].count()), start);
  std::vector<int64_t> strides = strides_of(c.in[0].shape), step = reduced_strides(c);
  for (size_t i = 0; i < x.size(); ++i) {
    int64_t to = 0;
    for (size_t d = 0; d < step.size(); ++d)
      to += static_cast<int64_t>(i) / strides[d] % c.in[0].shape[d] * step[d];
    double& sum = y[static_cast<size_t>(to)];
    sum = f(sum, x[i]);
  }
  store(y, a.out[0], c.out[0]);
}

void matmul(const Call& c, const KernelArgs& a) {
  Numbers x = load(a.in[0], c.in[0]), y = load(a.in[1], c.in[1]);
  const Shape& s = c.out[0].shape;
  for (Numbers* all : {&x, &y})
    for (double& v : *all) {
      if (c.attrs.flag("bf16"))
        v = static_cast<double>(bf16_to_f32(f32_to_bf16(static_cast<float>(v))));
      if (c.attrs.flag("f16"))
        v = static_cast<double>(f16_to_f32(f32_to_f16(static_cast<float>(v))));
    }
  bool tx = c.attrs.flag("trans_x"), ty = c.attrs.flag("trans_y");
  const int64_t m = s[s.size() - 2], n = s[s.size() - 1];
  const int64_t k = c.in[0].shape[c.in[0].shape.size() - (tx ? 2 : 1)];
  Numbers z = c.in.size() > 2 && a.in[2] ? load(a.in[2], c.in[2])
                                         : Numbers(static_cast<size_t>(c.out[0].count()), 0.0);
  const int64_t batches = m * n == 0 ? 0 : c.out[0].count() / (m * n);
  for (int64_t b = 0; b < batches; ++b) {
    const double *xb = x.data() + b * m * k, *yb = y.data() + b * k * n;
    double* zb = z.data() + b * m * n;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t l = 0; l < k; ++l) {
        const double xv = tx ? xb[l * m + i] : xb[i * k + l];
        for (int64_t j = 0; j < n; ++j) zb[i * n + j] += xv * (ty ? yb[j * k + l] : yb[l * n + j]);
      }
  }
  store(z, a.out[0], c.out[0]);
}

void scatter_add_rows(const Call& c, const KernelArgs& a) {
  const auto* ids = static_cast<const int32_t*>(a.in[0]);
  Numbers dy = load(a.in[1], c.in[1]);
  Numbers z = c.in.size() > 2 && a.in[2] ? load(a.in[2], c.out[0])
                                         : Numbers(static_cast<size_t>(c.out[0].count()), 0.0);
  const int64_t rows = c.out[0].shape[0], columns = c.out[0].shape[1];
  for (int64_t t = 0; t < c.in[0].count(); ++t) {
    if (ids[t] < 0) continue;
    HONE_BUG_IF(ids[t] >= rows, "scatter_add_rows: id {} at {} is not below {}", ids[t], t, rows);
    for (int64_t j = 0; j < columns; ++j)
      z[static_cast<size_t>(ids[t] * columns + j)] += dy[static_cast<size_t>(t * columns + j)];
  }
  store(z, a.out[0], c.out[0]);
}

}  // namespace

void add_sums(Table& t) {
  t["reduce_sum"] = [](const Call& c, const KernelArgs& a) {
    reduce(c, a, 0, [](double x, double y) { return x + y; });
  };
  t["reduce_max"] = [](const Call& c, const KernelArgs& a) {
    reduce(c, a, -INFINITY, [](double x, double y) { return std::isnan(y) || y > x ? y : x; });
  };
  t["matmul"] = matmul;
  t["scatter_add_rows"] = scatter_add_rows;
}

}  // namespace hone::reference
