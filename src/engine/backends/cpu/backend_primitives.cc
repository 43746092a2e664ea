// Primitives as threaded loops. They serve scalars, small tensors and ops that no fused kernel
// covers; what a step spends time in has a kernel of its own.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <iterator>
#include <span>

#include "base/core/philox.h"
#include "engine/backends/cpu/backend_support.h"
#include "engine/backends/cpu/kernels/narrow.h"
#include "engine/backends/cpu/kernels/round_stochastic.h"
#include "engine/graph/halves.h"

namespace hone::cpu {
namespace {

constexpr int64_t kSerial = 4096;  // elements below which one thread is faster

template <class F>
void each(ThreadPool& pool, int64_t count, F&& f) {
  if (count <= kSerial) {
    f(int64_t{0}, count);
    return;
  }
  pool.parallel_for(count, [&](int64_t begin, int64_t end, int) { f(begin, end); });
}

// Calls f with a value of the C++ type that stores `t`.
template <class F>
bool with_type(DType t, F&& f) {
  switch (t) {
    case DType::f32:
      f(float{});
      return true;
    case DType::f64:
      f(double{});
      return true;
    case DType::i64:
      f(int64_t{});
      return true;
    case DType::i32:
      f(int32_t{});
      return true;
    case DType::u8:
      f(uint8_t{});
      return true;
    case DType::boolean:
      f(uint8_t{});
      return true;
    default:
      return false;
  }
}

using Run = std::function<void(const KernelArgs&)>;

template <class T, class R, class F>
Run binary(const NodeView& n, F f) {
  const int64_t count = n.out(0).count();
  const int64_t sx = n.in(0).rank() == 0 ? 0 : 1, sy = n.in(1).rank() == 0 ? 0 : 1;
  return [=](const KernelArgs& a) {
    const T* x = static_cast<const T*>(a.in[0]);
    const T* y = static_cast<const T*>(a.in[1]);
    R* out = static_cast<R*>(a.out[0]);
    each(pool_of(a), count, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) out[i] = static_cast<R>(f(x[i * sx], y[i * sy]));
    });
  };
}

template <class T, class F>
Run unary(const NodeView& n, F f) {
  const int64_t count = n.out(0).count();
  return [=](const KernelArgs& a) {
    const T* x = static_cast<const T*>(a.in[0]);
    T* out = static_cast<T*>(a.out[0]);
    each(pool_of(a), count, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) out[i] = static_cast<T>(f(x[i]));
    });
  };
}

template <class T>
Run comparison(const NodeView& n) {
  const std::string how = n.text("how");
  if (how == "eq") return binary<T, uint8_t>(n, [](T x, T y) { return x == y; });
  if (how == "ne") return binary<T, uint8_t>(n, [](T x, T y) { return x != y; });
  if (how == "lt") return binary<T, uint8_t>(n, [](T x, T y) { return x < y; });
  if (how == "le") return binary<T, uint8_t>(n, [](T x, T y) { return x <= y; });
  if (how == "gt") return binary<T, uint8_t>(n, [](T x, T y) { return x > y; });
  return binary<T, uint8_t>(n, [](T x, T y) { return x >= y; });
}

std::vector<int64_t> strides_of(const Shape& shape) {
  std::vector<int64_t> s(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) s[i - 1] = s[i] * shape[i];
  return s;
}

// out[index] = x[sum index[d] * stride[d]] over the result's shape: broadcast and transpose.
template <class T>
Run gathered(const Shape& shape, std::vector<int64_t> stride) {
  const int64_t count = Type{DType::f32, shape}.count();
  return [=](const KernelArgs& a) {
    const T* x = static_cast<const T*>(a.in[0]);
    T* out = static_cast<T*>(a.out[0]);
    each(pool_of(a), count, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t rest = i, from = 0;
        for (size_t d = shape.size(); d-- > 0;) {
          from += rest % shape[d] * stride[d];
          rest /= shape[d];
        }
        out[i] = x[from];
      }
    });
  };
}

template <class T>
Run broadcast(const NodeView& n) {
  std::vector<int64_t> stride(n.out(0).shape.size(), 0), own = strides_of(n.in(0).shape),
                                                         axes = n.integers("axes");
  for (size_t i = 0; i < axes.size(); ++i) stride[static_cast<size_t>(axes[i])] = own[i];
  return gathered<T>(n.out(0).shape, stride);
}

template <class T>
Run transpose(const NodeView& n) {
  std::vector<int64_t> own = strides_of(n.in(0).shape), stride;
  for (int64_t p : n.integers("permutation")) stride.push_back(own[static_cast<size_t>(p)]);
  return gathered<T>(n.out(0).shape, stride);
}

// Sums (in double) or maxima over axes.
template <class T>
Run reduce(const NodeView& n, bool sum) {
  const Shape shape = n.in(0).shape;
  std::vector<int64_t> own = strides_of(shape), axes = n.integers("axes");
  std::vector<int64_t> kept_size, kept_stride, gone_size, gone_stride;
  for (size_t d = 0; d < shape.size(); ++d) {
    bool gone = std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) != axes.end();
    (gone ? gone_size : kept_size).push_back(shape[d]);
    (gone ? gone_stride : kept_stride).push_back(own[d]);
  }
  const int64_t count = n.out(0).count();
  int64_t inner = 1;
  for (int64_t g : gone_size) inner *= g;
  auto offset = [](int64_t i, const std::vector<int64_t>& size,
                   const std::vector<int64_t>& stride) {
    int64_t at = 0;
    for (size_t d = size.size(); d-- > 0;) {
      at += i % size[d] * stride[d];
      i /= size[d];
    }
    return at;
  };
  return [=](const KernelArgs& a) {
    const T* x = static_cast<const T*>(a.in[0]);
    T* out = static_cast<T*>(a.out[0]);
    pool_of(a).parallel_for(count, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        const T* base = x + offset(i, kept_size, kept_stride);
        double total = 0;
        T most = std::numeric_limits<T>::lowest();
        if (std::is_floating_point_v<T>) most = -std::numeric_limits<T>::infinity();
        for (int64_t k = 0; k < inner; ++k) {
          T v = base[offset(k, gone_size, gone_stride)];
          total += static_cast<double>(v);
          most = v > most || v != v ? v : most;
        }
        out[i] = sum ? static_cast<T>(total) : most;
      }
    });
  };
}

template <class T>
Run select(const NodeView& n) {
  const int64_t count = n.out(0).count();
  const int64_t sc = n.in(0).rank() ? 1 : 0, sx = n.in(1).rank() ? 1 : 0,
                sy = n.in(2).rank() ? 1 : 0;
  return [=](const KernelArgs& a) {
    const uint8_t* c = static_cast<const uint8_t*>(a.in[0]);
    const T *x = static_cast<const T*>(a.in[1]), *y = static_cast<const T*>(a.in[2]);
    T* out = static_cast<T*>(a.out[0]);
    each(pool_of(a), count, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) out[i] = c[i * sc] ? x[i * sx] : y[i * sy];
    });
  };
}

// Copies rows of `width` bytes: slice (one part) and concat (several).
Run slice(const NodeView& n) {
  const auto axis = static_cast<size_t>(n.integer("axis"));
  int64_t outer = 1, inner = size_of(n.in(0).dtype);
  for (size_t d = 0; d < n.in(0).shape.size(); ++d)
    (d < axis ? outer : inner) *= d == axis ? 1 : n.in(0).shape[d];
  const int64_t from = n.in(0).shape[axis] * inner, to = n.out(0).shape[axis] * inner,
                skip = n.integer("begin") * inner;
  return [=](const KernelArgs& a) {
    for (int64_t i = 0; i < outer; ++i)
      std::memcpy(static_cast<char*>(a.out[0]) + i * to,
                  static_cast<const char*>(a.in[0]) + i * from + skip, static_cast<size_t>(to));
  };
}

Run concat(const NodeView& n) {
  const auto axis = static_cast<size_t>(n.integer("axis"));
  int64_t outer = 1, inner = size_of(n.out(0).dtype);
  for (size_t d = 0; d < n.out(0).shape.size(); ++d)
    (d < axis ? outer : inner) *= d == axis ? 1 : n.out(0).shape[d];
  std::vector<int64_t> widths;
  for (size_t i = 0; i < n.inputs(); ++i) widths.push_back(n.in(i).shape[axis] * inner);
  return [=](const KernelArgs& a) {
    char* out = static_cast<char*>(a.out[0]);
    for (int64_t o = 0; o < outer; ++o)
      for (size_t i = 0; i < widths.size(); ++i) {
        std::memcpy(out, static_cast<const char*>(a.in[i]) + o * widths[i],
                    static_cast<size_t>(widths[i]));
        out += widths[i];
      }
  };
}

Run gather_rows(const NodeView& n) {
  const int64_t count = n.in(1).count();
  const int64_t width = count == 0 ? 0 : n.out(0).bytes() / count;
  return [=](const KernelArgs& a) {
    const int32_t* ids = static_cast<const int32_t*>(a.in[1]);
    const auto some = [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        char* to = static_cast<char*>(a.out[0]) + i * width;
        if (ids[i] < 0)
          std::memset(to, 0, static_cast<size_t>(width));
        else
          std::memcpy(to, static_cast<const char*>(a.in[0]) + ids[i] * width,
                      static_cast<size_t>(width));
      }
    };
    if (count * width <= 4 * kSerial) return some(0, count);
    pool_of(a).parallel_for(count, [&](int64_t begin, int64_t end, int) { some(begin, end); });
  };
}

// row += the rows `tokens` of dy, one after another in f32, rounded once.
void add_to_halves(bool is_bf16, const float* dy, std::span<const int32_t> tokens, int64_t columns,
                   uint16_t* row) {
  std::array<float, 256> sums;
  for (int64_t first = 0; first < columns; first += std::ssize(sums)) {
    const auto width = static_cast<size_t>(std::min(std::ssize(sums), columns - first));
    uint16_t* const to = row + first;
    for (size_t c = 0; c < width; ++c) sums[c] = is_bf16 ? bf16_to_f32(to[c]) : f16_to_f32(to[c]);
    for (const int32_t token : tokens) {
      const float* const from = dy + token * columns + first;
      for (size_t c = 0; c < width; ++c) sums[c] += from[c];
    }
    for (size_t c = 0; c < width; ++c) to[c] = is_bf16 ? f32_to_bf16(sums[c]) : f32_to_f16(sums[c]);
  }
}

// Onto rows in 16 bits. The workspace has the tokens in the order of their ids.
Kernel scatter_onto_halves(const NodeView& n) {
  const int64_t count = n.in(0).count(), columns = n.in(1).shape[1], bytes = n.out(0).bytes();
  const bool is_bf16 = n.out(0).dtype == DType::bf16;
  return {"cpu.loop.scatter_add_rows", 4 * count, [=](const KernelArgs& a) {
            const int32_t* ids = in_i32(a, 0);
            auto* out = static_cast<uint16_t*>(a.out[0]);
            if (a.in[2] != out && bytes > 0) std::memcpy(out, a.in[2], static_cast<size_t>(bytes));
            auto* order = static_cast<int32_t*>(a.workspace);
            int64_t used = 0;
            for (int32_t i = 0; i < count; ++i)
              if (ids[i] >= 0) order[used++] = i;
            std::sort(order, order + used, [ids](int32_t x, int32_t y) {
              return ids[x] != ids[y] ? ids[x] < ids[y] : x < y;
            });
            pool_of(a).parallel_for(used, [&](int64_t begin, int64_t end, int) {
              for (int64_t i = begin; i < end; ++i) {
                const int32_t id = ids[order[i]];
                if (i > 0 && ids[order[i - 1]] == id) continue;
                int64_t last = i;
                while (last < used && ids[order[last]] == id) ++last;
                add_to_halves(is_bf16, in(a, 1), {order + i, order + last}, columns,
                              out + id * columns);
              }
            });
          }};
}

template <class T>
Run scatter_add_rows(const NodeView& n) {
  const int64_t count = n.in(0).count(), columns = n.in(1).shape[1], total = n.out(0).count();
  const bool onto = n.has("acc");
  return [=](const KernelArgs& a) {
    const int32_t* ids = static_cast<const int32_t*>(a.in[0]);
    const T* dy = static_cast<const T*>(a.in[1]);
    T* out = static_cast<T*>(a.out[0]);
    if (!onto)
      std::fill(out, out + total, T{0});
    else if (a.in[2] != out)
      std::memcpy(out, a.in[2], static_cast<size_t>(total) * sizeof(T));
    for (int64_t i = 0; i < count; ++i) {
      if (ids[i] < 0) continue;
      for (int64_t c = 0; c < columns; ++c) out[ids[i] * columns + c] += dy[i * columns + c];
    }
  };
}

template <class T>
Run plain_matmul(const NodeView& n) {
  const bool tx = n.flag("trans_x"), ty = n.flag("trans_y"), onto = n.has("acc");
  const Shape &x = n.in(0).shape, &z = n.out(0).shape;
  const size_t r = z.size();
  const int64_t m = z[r - 2], cols = z[r - 1], k = tx ? x[r - 2] : x[r - 1];
  const int64_t batches = m * cols == 0 ? 0 : n.out(0).count() / (m * cols);
  return [=](const KernelArgs& a) {
    if (onto && a.in[2] != a.out[0])
      std::memcpy(a.out[0], a.in[2], static_cast<size_t>(batches * m * cols) * sizeof(T));
    pool_of(a).parallel_for(batches * m, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t batch = row / m, i = row % m;
        const T* px = static_cast<const T*>(a.in[0]) + batch * m * k;
        const T* py = static_cast<const T*>(a.in[1]) + batch * k * cols;
        T* out = static_cast<T*>(a.out[0]) + row * cols;
        for (int64_t j = 0; j < cols; ++j) {
          double sum = onto ? static_cast<double>(out[j]) : 0;
          for (int64_t q = 0; q < k; ++q)
            sum += static_cast<double>(px[tx ? q * m + i : i * k + q]) *
                   static_cast<double>(py[ty ? j * k + q : q * cols + j]);
          out[j] = static_cast<T>(sum);
        }
      }
    });
  };
}

std::optional<Half> half_of(DType t) {
  if (t == DType::bf16) return Half::bf16;
  if (t == DType::f16) return Half::f16;
  return {};
}

Run cast(const NodeView& n) {
  const int64_t count = n.out(0).count();
  const DType to = n.out(0).dtype;
  if (const auto half = half_of(to); half && n.in(0).dtype == DType::f32)
    return [=, saturate = n.flag("saturate")](const KernelArgs& a) {
      narrow(*half, saturate, count, in(a, 0), static_cast<uint16_t*>(a.out[0]), pool_of(a));
    };
  if (const auto half = half_of(n.in(0).dtype); half && to == DType::f32)
    return [=](const KernelArgs& a) {
      widen(*half, count, static_cast<const uint16_t*>(a.in[0]), out(a, 0), pool_of(a));
    };
  Run run;
  with_type(n.in(0).dtype, [&](auto from) {
    using F = decltype(from);
    with_type(to, [&](auto into) {
      using T = decltype(into);
      const bool truth = to == DType::boolean;
      run = [=](const KernelArgs& a) {
        const F* x = static_cast<const F*>(a.in[0]);
        T* out = static_cast<T*>(a.out[0]);
        each(pool_of(a), count, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i)
            out[i] = truth ? static_cast<T>(x[i] != F{0}) : static_cast<T>(x[i]);
        });
      };
    });
  });
  return run;
}

template <class T>
Run constant(const NodeView& n) {
  const int64_t count = n.out(0).count();
  const T value = static_cast<T>(n.real("value"));
  return [=](const KernelArgs& a) {
    T* out = static_cast<T*>(a.out[0]);
    each(pool_of(a), count,
         [&](int64_t begin, int64_t end) { std::fill(out + begin, out + end, value); });
  };
}

template <class T>
Run iota(const NodeView& n) {
  const Shape shape = n.out(0).shape;
  const auto axis = static_cast<size_t>(n.integer("axis"));
  const int64_t stride = strides_of(shape)[axis], size = shape[axis], count = n.out(0).count();
  return [=](const KernelArgs& a) {
    T* out = static_cast<T*>(a.out[0]);
    for (int64_t i = 0; i < count; ++i) out[i] = static_cast<T>(i / stride % size);
  };
}

template <class T>
Run random_normal(const NodeView& n) {
  const int64_t count = n.out(0).count(), period = n.integer("period");
  const auto key = static_cast<uint64_t>(n.integer("key"));
  const double std = n.real("std");
  return [=](const KernelArgs& a) {
    T* out = static_cast<T*>(a.out[0]);
    const auto round = static_cast<uint64_t>((in_i64(a, 0)[0] - 1) / period);
    pool_of(a).parallel_for((count + 3) / 4, [&](int64_t begin, int64_t end, int) {
      for (int64_t block = begin; block < end; ++block) {
        const auto at = static_cast<uint64_t>(block);
        const PhiloxBlock w =
            philox4x32({static_cast<uint32_t>(at), static_cast<uint32_t>(at >> 32),
                        static_cast<uint32_t>(round), static_cast<uint32_t>(round >> 32)},
                       {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)});
        T four[4];
        for (size_t k = 0; k < 4; k += 2) {
          const double length = std * std::sqrt(-2 * std::log((w[k] + 0.5) * 0x1p-32));
          const double angle = 2 * M_PI * 0x1p-32 * w[k + 1];
          four[k] = static_cast<T>(length * std::cos(angle));
          four[k + 1] = static_cast<T>(length * std::sin(angle));
        }
        std::copy(four, four + std::min<int64_t>(4, count - 4 * block), out + 4 * block);
      }
    });
  };
}

Run halves(const NodeView& n) {
  const int64_t count = n.in(0).count();
  const bool joins = n.flag("joined");
  if (n.in(0).dtype != DType::f32) return {};
  return [=](const KernelArgs& a) {
    if (joins) {
      const auto* from = static_cast<const uint16_t*>(a.in[0]);
      each(pool_of(a), count, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) out(a, 0)[i] = joined({from[i], from[count + i]});
      });
      return;
    }
    auto* to = static_cast<uint16_t*>(a.out[0]);
    each(pool_of(a), count, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Halves h = halves_of(in(a, 0)[i]);
        to[i] = h.upper;
        to[count + i] = h.lower;
      }
    });
  };
}

Result<Kernel> rounded_stochastic(const NodeView& n, int) {
  if (n.in(0).dtype != DType::f32) return declined(n, "kernels are for f32");
  const int64_t count = n.out(0).count(), first = n.integer("first");
  const DropoutKey key = key_of_words(n.integer("key"));
  return Kernel{"cpu.round_stochastic", 0, [=](const KernelArgs& a) {
                  round_stochastic({key, in_i64(a, 1)[0]}, first, count, in(a, 0),
                                   static_cast<uint16_t*>(a.out[0]), pool_of(a));
                }};
}

// A loop for one element type, wrapped for the table. `loop` is called as loop(n, T{}); an empty
// Run says that it has none for T. `operand`: the one whose type T is; kResult: the result's.
constexpr size_t kResult = static_cast<size_t>(-1);

Result<Kernel> looped(const NodeView& n, Run run) {
  return Kernel{"cpu.loop." + n.node.op->name, 0, std::move(run)};
}

template <class Loop>
auto over_type(size_t operand, Loop loop) {
  return [=](const NodeView& n, int) -> Result<Kernel> {
    const DType t = operand == kResult ? n.out(0).dtype : n.in(operand).dtype;
    Run run;
    with_type(t, [&](auto x) { run = loop(n, x); });
    if (!run) return declined(n, fmt::format("no loop for {}", name_of(t)));
    return looped(n, std::move(run));
  };
}

// f(x, y) for each pair of elements; a scalar pairs with every element.
template <class F>
auto of_two(F f) {
  return over_type(
      0, [f](const NodeView& n, auto x) -> Run { return binary<decltype(x), decltype(x)>(n, f); });
}

// f(x) for each element of a floating-point type.
template <class F>
auto of_float(F f) {
  return over_type(0, [f](const NodeView& n, auto x) -> Run {
    if constexpr (std::is_floating_point_v<decltype(x)>) return unary<decltype(x)>(n, f);
    return {};
  });
}

auto bytes_of(Run (*loop)(const NodeView&)) {
  return [loop](const NodeView& n, int) -> Result<Kernel> {
    Run run = loop(n);
    if (!run) return declined(n, "no loop for its types");
    return looped(n, std::move(run));
  };
}

struct Divide {
  template <class T>
  T operator()(T x, T y) const {
    if constexpr (std::is_floating_point_v<T>) return x / y;
    return y == 0 ? T{0} : static_cast<T>(x / y);
  }
};

Result<Kernel> scattered_rows(const NodeView& n, int threads) {
  if (n.out(0).dtype != n.in(1).dtype) return scatter_onto_halves(n);
  return over_type(1, [](const NodeView& of, auto x) -> Run {
    if constexpr (std::is_floating_point_v<decltype(x)>) return scatter_add_rows<decltype(x)>(of);
    return {};
  })(n, threads);
}

}  // namespace

Makers loop_makers() {
  return {
      {"add", of_two([](auto x, auto y) { return x + y; })},
      {"sub", of_two([](auto x, auto y) { return x - y; })},
      {"mul", of_two([](auto x, auto y) { return x * y; })},
      {"div", of_two(Divide{})},
      {"maximum", of_two([](auto x, auto y) { return x > y || x != x ? x : y; })},
      {"minimum", of_two([](auto x, auto y) { return x < y || x != x ? x : y; })},
      {"neg", over_type(0,
                        [](const NodeView& n, auto x) -> Run {
                          return unary<decltype(x)>(n, [](auto v) { return -v; });
                        })},
      {"exp", of_float([](auto x) { return std::exp(x); })},
      {"log", of_float([](auto x) { return std::log(x); })},
      {"tanh", of_float([](auto x) { return std::tanh(x); })},
      {"erf", of_float([](auto x) { return std::erf(x); })},
      {"sqrt", of_float([](auto x) { return std::sqrt(x); })},
      {"sin", of_float([](auto x) { return std::sin(x); })},
      {"cos", of_float([](auto x) { return std::cos(x); })},
      {"compare",
       over_type(0, [](const NodeView& n, auto x) { return comparison<decltype(x)>(n); })},
      {"select", over_type(1, [](const NodeView& n, auto x) { return select<decltype(x)>(n); })},
      {"broadcast",
       over_type(0, [](const NodeView& n, auto x) { return broadcast<decltype(x)>(n); })},
      {"transpose",
       over_type(0, [](const NodeView& n, auto x) { return transpose<decltype(x)>(n); })},
      {"reduce_sum",
       over_type(0, [](const NodeView& n, auto x) { return reduce<decltype(x)>(n, true); })},
      {"reduce_max",
       over_type(0, [](const NodeView& n, auto x) { return reduce<decltype(x)>(n, false); })},
      {"constant",
       over_type(kResult, [](const NodeView& n, auto x) { return constant<decltype(x)>(n); })},
      {"iota", over_type(kResult, [](const NodeView& n, auto x) { return iota<decltype(x)>(n); })},
      {"scatter_add_rows", scattered_rows},
      {"matmul", over_type(0,
                           [](const NodeView& n, auto x) -> Run {
                             if constexpr (std::is_floating_point_v<decltype(x)>)
                               if (!n.flag("bf16") && !n.flag("f16"))
                                 return plain_matmul<decltype(x)>(n);
                             return {};
                           })},
      {"random_normal", over_type(kResult,
                                  [](const NodeView& n, auto x) -> Run {
                                    if constexpr (std::is_floating_point_v<decltype(x)>)
                                      return random_normal<decltype(x)>(n);
                                    return {};
                                  })},
      {"round_stochastic", rounded_stochastic},
      {"halves", bytes_of(halves)},
      {"slice", bytes_of(slice)},
      {"concat", bytes_of(concat)},
      {"gather_rows", bytes_of(gather_rows)},
      {"cast", bytes_of(cast)},
  };
}

}  // namespace hone::cpu
