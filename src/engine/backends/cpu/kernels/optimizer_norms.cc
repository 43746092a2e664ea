// The rules that need norms of whole tensors: sums are made of parts that depend on shapes only, so
// that every number of threads gives the same bits.
#include <algorithm>
#include <cmath>

#include "engine/backends/cpu/isa/isa.h"
#include "engine/backends/cpu/kernels/optimizer.h"
#include "engine/backends/cpu/kernels/optimizer_kernels.h"

namespace hone::cpu {

HONE_CPU_DISPATCH(void, lamb_moments_range,
                  (const UpdateTensor& t, const LambScalars& s, int64_t begin, int64_t end,
                   double* squares),
                  (t, s, begin, end, squares))
HONE_CPU_DISPATCH(void, lamb_apply_range,
                  (const UpdateTensor& t, const LambScalars& s, float rate, int64_t begin,
                   int64_t end),
                  (t, s, rate, begin, end))
HONE_CPU_DISPATCH(float, adafactor_squares_row,
                  (const Numbers& g, int64_t first, float scale, int64_t count, float* columns),
                  (g, first, scale, count, columns))
HONE_CPU_DISPATCH(float, adafactor_change_row,
                  (const Numbers& g, int64_t first, const float* column_root, int64_t count),
                  (g, first, column_root, count))
HONE_CPU_DISPATCH(void, adafactor_apply_row,
                  (float* p, const Numbers& g, int64_t first, const float* column_root, float decay,
                   float factor, int64_t count),
                  (p, g, first, column_root, decay, factor, count))

namespace {

constexpr int64_t kNormBlock = 16384;  // elements of LAMB that are summed as one
constexpr int64_t kPart = 65536;       // elements of Adafactor that are one thread's at least
constexpr int64_t kMostParts = 32;     // of a matrix: each has its own sums of columns

int64_t blocks_of(const UpdateTensor& t) { return (t.count + kNormBlock - 1) / kNormBlock; }

// The division of a tensor into parts of whole rows, and its scratch memory.
struct Parts {
  int64_t per_matrix = 1, rows = 1;  // parts, and rows of a part
  int64_t count = 1;                 // of the tensor
  int64_t roots = 0, bytes = 0;      // offsets in floats and bytes; sums come first

  explicit Parts(const AdafactorTensor& t) {
    const int64_t wanted = std::min((t.rows * t.columns + kPart - 1) / kPart, kMostParts);
    rows = (t.rows + std::max<int64_t>(wanted, 1) - 1) / std::max<int64_t>(wanted, 1);
    rows = std::max<int64_t>(rows, 1);
    per_matrix = (t.rows + rows - 1) / rows;
    count = t.matrices * per_matrix;
    roots = count * t.columns;
    bytes = 4 * (roots + t.matrices * t.columns) + 8 * (count + t.matrices);
    bytes = (bytes + 63) / 64 * 64;
  }
};

void adafactor_tensor(const AdafactorTensor& t, const Adafactor& rule, const UpdateStep& at,
                      void* workspace, ThreadPool& pool) {
  if (t.matrices * t.rows * t.columns == 0) return;
  const Parts parts(t);
  auto* part_sum = static_cast<double*>(workspace);  // of squared changes
  double* row_mean = part_sum + parts.count;         // by matrix
  auto* column_sum = reinterpret_cast<float*>(row_mean + t.matrices);
  float* column_root = column_sum + parts.roots;
  const double take = std::pow(static_cast<double>(at.step), rule.decay_rate), keep = 1 - take;
  const float scale = f32(at.gradient_scale);
  // f(matrix, first row, end row, part), rows counted over the whole tensor
  auto for_rows = [&](auto&& f) {
    pool.parallel_for(parts.count, [&](int64_t begin, int64_t end, int) {
      for (int64_t k = begin; k < end; ++k) {
        const int64_t m = k / parts.per_matrix, first = k % parts.per_matrix * parts.rows;
        f(m, m * t.rows + first, m * t.rows + std::min(first + parts.rows, t.rows), k);
      }
    });
  };
  for_rows([&](int64_t, int64_t begin, int64_t end, int64_t k) {
    float* columns = column_sum + k * t.columns;
    std::fill(columns, columns + t.columns, 0.0f);
    for (int64_t r = begin; r < end; ++r) {
      const float sum = adafactor_squares_row(t.g, r * t.columns, scale, t.columns, columns);
      if (!t.row) continue;
      const double mean = static_cast<double>(sum) / static_cast<double>(t.columns) + rule.eps;
      t.row[r] = f32(keep * static_cast<double>(t.row[r]) + take * mean);
    }
  });
  pool.parallel_for(t.matrices * t.columns, [&](int64_t begin, int64_t end, int) {
    for (int64_t c = begin; c < end; ++c) {
      const int64_t m = c / t.columns;
      double sum = 0;
      for (int64_t k = 0; k < parts.per_matrix; ++k)
        sum +=
            static_cast<double>(column_sum[(m * parts.per_matrix + k) * t.columns + c % t.columns]);
      const double mean = sum / static_cast<double>(t.rows) + rule.eps;
      t.column[c] = f32(keep * static_cast<double>(t.column[c]) + take * mean);
      column_root[c] = f32(1 / std::sqrt(static_cast<double>(t.column[c])));
    }
  });
  for (int64_t m = 0; m < t.matrices; ++m) {
    double sum = 0;
    for (int64_t r = 0; t.row && r < t.rows; ++r) sum += static_cast<double>(t.row[m * t.rows + r]);
    row_mean[m] = sum / static_cast<double>(t.rows);
  }
  // of u = g row_root column_root, with the scale of the gradient
  auto row_root = [&](int64_t m, int64_t r) {
    const double root = t.row ? std::sqrt(row_mean[m] / static_cast<double>(t.row[r])) : 1;
    return root * at.gradient_scale;
  };
  for_rows([&](int64_t m, int64_t begin, int64_t end, int64_t k) {
    double sum = 0;
    for (int64_t r = begin; r < end; ++r) {
      const double root = row_root(m, r);
      sum += root * root *
             static_cast<double>(
                 adafactor_change_row(t.g, r * t.columns, column_root + m * t.columns, t.columns));
    }
    part_sum[k] = sum;
  });
  double squares = 0;
  for (int64_t k = 0; k < parts.count; ++k) squares += part_sum[k];
  const double rms = std::sqrt(squares / static_cast<double>(t.matrices * t.rows * t.columns));
  const double rate = at.lr / std::max(1.0, rms / rule.clip_threshold);
  const float decay = f32(1 - at.lr * t.weight_decay);
  for_rows([&](int64_t m, int64_t begin, int64_t end, int64_t) {
    for (int64_t r = begin; r < end; ++r)
      adafactor_apply_row(t.p + r * t.columns, t.g, r * t.columns, column_root + m * t.columns,
                          decay, f32(rate * row_root(m, r)), t.columns);
  });
}

}  // namespace

int64_t lamb_workspace_bytes(std::span<const UpdateTensor> tensors) {
  int64_t blocks = 0;
  for (const UpdateTensor& t : tensors) blocks += blocks_of(t);
  return 16 * blocks + 8 * static_cast<int64_t>(tensors.size());
}

void lamb(std::span<const UpdateTensor> tensors, const Lamb& rule, const UpdateStep& at,
          void* workspace, ThreadPool& pool) {
  auto* rate = static_cast<double*>(workspace);  // by tensor
  double* squares = rate + tensors.size();       // of p and of the change, by block
  int64_t blocks = 0;
  for (const UpdateTensor& t : tensors) blocks += blocks_of(t);
  const double t = static_cast<double>(at.step);
  const double correction1 = 1 - std::pow(rule.beta1, t), correction2 = 1 - std::pow(rule.beta2, t);
  auto scalars = [&](const UpdateTensor& x) {
    return LambScalars{f32(at.gradient_scale), f32(1 - rule.beta1), f32(rule.beta2),
                       f32(1 - rule.beta2),    f32(correction1),    f32(std::sqrt(correction2)),
                       f32(rule.eps),          f32(x.weight_decay)};
  };
  // f(tensor index, first element, end, block) for the blocks of each thread
  auto for_blocks = [&](auto&& f) {
    pool.parallel_for(blocks, [&](int64_t begin, int64_t end, int) {
      int64_t first = 0;  // block of the tensor
      for (size_t i = 0; i < tensors.size() && first < end; ++i) {
        const int64_t n = blocks_of(tensors[i]);
        for (int64_t b = std::max(begin, first); b < std::min(end, first + n); ++b)
          f(i, (b - first) * kNormBlock, std::min((b - first + 1) * kNormBlock, tensors[i].count),
            b);
        first += n;
      }
    });
  };
  for_blocks([&](size_t i, int64_t begin, int64_t end, int64_t b) {
    lamb_moments_range(tensors[i], scalars(tensors[i]), begin, end, squares + 2 * b);
  });
  const double* square = squares;
  for (size_t i = 0; i < tensors.size(); ++i) {
    double weight = 0, size = 0;
    for (int64_t b = 0; b < blocks_of(tensors[i]); ++b, square += 2) {
      weight += square[0];
      size += square[1];
    }
    const double trust = weight > 0 && size > 0 ? std::sqrt(weight / size) : 1;
    rate[i] = at.lr * (rule.trust_clip ? std::min(trust, 1.0) : trust);
  }
  for_blocks([&](size_t i, int64_t begin, int64_t end, int64_t) {
    lamb_apply_range(tensors[i], scalars(tensors[i]), f32(rate[i]), begin, end);
  });
}

int64_t adafactor_workspace_bytes(std::span<const AdafactorTensor> tensors) {
  int64_t bytes = 0;
  for (const AdafactorTensor& t : tensors) bytes = std::max(bytes, Parts(t).bytes);
  return bytes;
}

void adafactor(std::span<const AdafactorTensor> tensors, const Adafactor& rule,
               const UpdateStep& at, void* workspace, ThreadPool& pool) {
  for (const AdafactorTensor& t : tensors) adafactor_tensor(t, rule, at, workspace, pool);
}

}  // namespace hone::cpu
