// Kernels of experts: softmax and the largest elements of rows, rows by group and their sums.
#include <algorithm>
#include <cmath>

#include "engine/backends/cpu/backend_support.h"

namespace hone::cpu {
namespace {

int32_t* out_i32(const KernelArgs& a, size_t i) { return static_cast<int32_t*>(a.out[i]); }

// f(row) for all rows, which have `columns` elements each.
template <class F>
void for_rows(ThreadPool& pool, int64_t rows, int64_t columns, F&& f) {
  constexpr int64_t kWorthThreads = 4096;
  if (rows * columns <= kWorthThreads) {
    for (int64_t t = 0; t < rows; ++t) f(t);
    return;
  }
  pool.parallel_for(rows, [&](int64_t begin, int64_t end, int) {
    for (int64_t t = begin; t < end; ++t) f(t);
  });
}

// Sums in eight parts, which are in registers; the same bits whatever the number of threads.
template <class F>
float sum_of(int64_t count, F&& term) {
  constexpr int kParts = 8;
  float part[kParts] = {};
  int64_t i = 0;
  for (; i + kParts <= count; i += kParts)
    for (int p = 0; p < kParts; ++p) part[p] += term(i + p);
  for (; i < count; ++i) part[0] += term(i);
  return ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]));
}

int64_t columns_of(const NodeView& n) { return n.in(0).shape.back(); }
int64_t rows_of(const NodeView& n) {
  return columns_of(n) == 0 ? 0 : n.in(0).count() / columns_of(n);
}

Kernel softmax_rows(const NodeView& n, int) {
  const int64_t columns = columns_of(n), rows = rows_of(n);
  return {"cpu.softmax", 0, [=](const KernelArgs& a) {
            for_rows(pool_of(a), rows, columns, [&](int64_t t) {
              const float* x = in(a, 0) + t * columns;
              float* y = out(a, 0) + t * columns;
              float most = x[0];
              for (int64_t c = 1; c < columns; ++c)
                most = x[c] > most || std::isnan(x[c]) ? x[c] : most;
              for (int64_t c = 0; c < columns; ++c) y[c] = std::exp(x[c] - most);
              const float sum = sum_of(columns, [&](int64_t c) { return y[c]; });
              for (int64_t c = 0; c < columns; ++c) y[c] /= sum;
            });
          }};
}

Kernel softmax_rows_grad(const NodeView& n, int) {
  const int64_t columns = columns_of(n), rows = rows_of(n);
  return {"cpu.softmax_grad", 0, [=](const KernelArgs& a) {
            for_rows(pool_of(a), rows, columns, [&](int64_t t) {
              const float *y = in(a, 0) + t * columns, *dy = in(a, 1) + t * columns;
              float* dx = out(a, 0) + t * columns;
              const float sum = sum_of(columns, [&](int64_t c) { return y[c] * dy[c]; });
              for (int64_t c = 0; c < columns; ++c) dx[c] = y[c] * (dy[c] - sum);
            });
          }};
}

// Whether x is before y among the largest, where x has the later column.
bool is_above(float x, float y) { return std::isnan(x) ? !std::isnan(y) : x > y; }

Kernel top_columns(const NodeView& n, int) {
  const int64_t columns = columns_of(n), rows = rows_of(n), k = n.integer("k");
  return {"cpu.top_k", 0, [=](const KernelArgs& a) {
            for_rows(pool_of(a), rows, k * columns, [&](int64_t t) {
              const float* x = in(a, 0) + t * columns;
              float* values = out(a, 0) + t * k;
              int32_t* places = out_i32(a, 1) + t * k;
              // Insertion into the list of the largest so far.
              for (int64_t c = 0; c < columns; ++c) {
                int64_t at = std::min(c, k);
                if (at == k && !is_above(x[c], values[k - 1])) continue;
                for (; at > 0 && is_above(x[c], values[at - 1]); --at)
                  if (at < k) {
                    values[at] = values[at - 1];
                    places[at] = places[at - 1];
                  }
                values[at] = x[c];
                places[at] = static_cast<int32_t>(c);
              }
            });
          }};
}

Kernel top_columns_grad(const NodeView& n, int) {
  const int64_t rows = n.out(0).shape[0], columns = n.out(0).shape[1], k = n.in(0).shape[1];
  return {"cpu.top_k_grad", 0, [=](const KernelArgs& a) {
            for_rows(pool_of(a), rows, columns, [&](int64_t t) {
              float* dx = out(a, 0) + t * columns;
              std::fill(dx, dx + columns, 0.0f);
              for (int64_t j = t * k; j < (t + 1) * k; ++j) dx[in_i32(a, 0)[j]] += in(a, 1)[j];
            });
          }};
}

Result<Kernel> sorted_rows(const NodeView& n, int) {
  const int64_t count = n.in(0).count(), groups = n.integer("groups"), each = n.integer("each");
  return Kernel{"cpu.group_rows", 0, [=](const KernelArgs& a) {
                  const int32_t* ids = in_i32(a, 0);
                  int32_t *rows = out_i32(a, 0), *places = out_i32(a, 1), *starts = out_i32(a, 2),
                          *group = out_i32(a, 3);
                  std::fill(starts, starts + groups + 1, 0);
                  for (int64_t r = 0; r < count; ++r) ++starts[ids[r] + 1];
                  for (int64_t g = 0; g < groups; ++g) starts[g + 1] += starts[g];
                  for (int64_t r = 0; r < count; ++r) {
                    const int32_t place = starts[ids[r]]++;
                    rows[place] = static_cast<int32_t>(r / each);
                    group[place] = ids[r];
                    places[r] = place;
                  }
                  for (int64_t g = groups; g > 0; --g) starts[g] = starts[g - 1];
                  starts[0] = 0;
                }};
}

Kernel combined_rows(const NodeView& n, int) {
  const int64_t tokens = n.in(2).shape[0], k = n.in(2).shape[1], columns = n.in(0).shape[1];
  return {"cpu.combine_rows", 0, [=](const KernelArgs& a) {
            for_rows(pool_of(a), tokens, k * columns, [&](int64_t t) {
              float* y = out(a, 0) + t * columns;
              for (int64_t j = t * k; j < (t + 1) * k; ++j) {
                const float w = in(a, 2)[j];
                const float* x = in(a, 0) + in_i32(a, 1)[j] * columns;
                if (j == t * k)
                  for (int64_t c = 0; c < columns; ++c) y[c] = w * x[c];
                else
                  for (int64_t c = 0; c < columns; ++c) y[c] += w * x[c];
              }
            });
          }};
}

Kernel combined_rows_grad(const NodeView& n, int) {
  const int64_t tokens = n.in(2).shape[0], k = n.in(2).shape[1], columns = n.in(0).shape[1];
  return {"cpu.combine_rows_grad", 0, [=](const KernelArgs& a) {
            for_rows(pool_of(a), tokens, k * columns, [&](int64_t t) {
              const float* dy = in(a, 3) + t * columns;
              for (int64_t j = t * k; j < (t + 1) * k; ++j) {
                const int64_t row = in_i32(a, 1)[j] * columns;
                const float w = in(a, 2)[j];
                const float* x = in(a, 0) + row;
                float* dx = out(a, 0) + row;
                out(a, 1)[j] = sum_of(columns, [&](int64_t c) { return x[c] * dy[c]; });
                for (int64_t c = 0; c < columns; ++c) dx[c] = w * dy[c];
              }
            });
          }};
}

}  // namespace

Makers group_makers() {
  return {{"softmax", for_f32(softmax_rows)},
          {"softmax_grad", for_f32(softmax_rows_grad)},
          {"top_k", for_f32(top_columns)},
          {"top_k_grad", for_f32(top_columns_grad)},
          {"group_rows", sorted_rows},
          {"combine_rows", for_f32(combined_rows)},
          {"combine_rows_grad", for_f32(combined_rows_grad)}};
}

}  // namespace hone::cpu
