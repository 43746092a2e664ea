#include "learn/pretrained/quantized_state.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "learn/checkpoint/gguf/ggml_quants.h"
#include "learn/pretrained/errors.h"
#include "learn/pretrained/quantize.h"

namespace hone {
namespace {

constexpr int64_t kPart = kStateBlock / 4;  // bytes; an f32 copy is a few MiB

Error not_finite(const ParamSpec& spec, const std::string& source) {
  return Error(err::kWeightNotFinite,
               fmt::format("the weight '{}' holds values that are not finite", spec.name))
      .at(source)
      .todo("take a checkpoint from before the training broke, or fetch the file again");
}

// Calls part(first group, groups) for parts of all groups, on all threads.
template <class Part>
void in_parts(ThreadPool& pool, int64_t groups, Part part) {
  pool.parallel_for(groups, [&](int64_t begin, int64_t end, int) { part(begin, end - begin); });
}

void write_floats(Session& session, const std::string& name, std::span<const float> x) {
  session.write_state(name, std::as_bytes(x));
}

// Bytes that are made in whole groups, and taken in parts of any length.
class BytesOfGroups {
 public:
  BytesOfGroups(int64_t group, int64_t all) : group_(group), left_(all) {}

  // Fills `bytes` with the next ones. make(span): the next whole groups, or the last, shorter one.
  Status next(std::span<std::byte> bytes, FunctionRef<Status(std::span<uint8_t>)> make) {
    std::span<uint8_t> to(reinterpret_cast<uint8_t*>(bytes.data()), bytes.size());
    to = to.subspan(take(to));
    const int64_t size = std::ssize(to);
    const int64_t whole = size == left_ ? size : size / group_ * group_;
    if (whole > 0) HONE_TRY(make(to.first(static_cast<size_t>(whole))));
    left_ -= whole;
    to = to.subspan(static_cast<size_t>(whole));
    if (to.empty()) return Ok{};
    rest_.resize(static_cast<size_t>(std::min(group_, left_)));
    left_ -= std::ssize(rest_);
    taken_ = 0;
    HONE_TRY(make(rest_));
    take(to);
    return Ok{};
  }

 private:
  size_t take(std::span<uint8_t> to) {
    const size_t n = std::min(rest_.size() - taken_, to.size());
    std::copy_n(rest_.begin() + static_cast<std::ptrdiff_t>(taken_), n, to.begin());
    taken_ += n;
    return n;
  }

  const int64_t group_;
  int64_t left_;               // bytes that are not made
  std::vector<uint8_t> rest_;  // of a group in which a part ended
  size_t taken_ = 0;           // of these
};

// Whether the numbers of 16 bits in the blocks are finite: then all elements are.
bool finite_blocks(const BlockScheme& scheme, const std::byte* at, int64_t blocks) {
  constexpr int kLargestExponent = 252;  // of 6 * 2^(e - 127)
  if (scheme.has_exponent) {
    for (int64_t i = 0; i < blocks; ++i)
      if (std::to_integer<int>(at[i * scheme.bytes]) > kLargestExponent) return false;
    return true;
  }
  const int exponent = scheme.name == "bf16" ? 0x7f80 : 0x7c00;
  for (int64_t i = 0; i < blocks; ++i, at += scheme.bytes)
    for (int64_t h = 0; h < scheme.halves; ++h) {
      const std::byte* half = at + scheme.halves_at + 2 * h;
      const int bits = std::to_integer<int>(half[0]) | std::to_integer<int>(half[1]) << 8;
      if ((bits & exponent) == exponent) return false;
    }
  return true;
}

// A weight [out,in] as its family keeps it.
std::vector<float> in_family_order(std::vector<float> x, const ParamSpec& spec) {
  if (!spec.in_out) return x;
  std::vector<float> turned(x.size());
  for (size_t i = 0; i < x.size(); ++i)
    turned[static_cast<size_t>(family_element(spec, static_cast<int64_t>(i)))] = x[i];
  return turned;
}

}  // namespace

Status write_quantized(Session& session, const ParamSpec& spec, const WeightReader& read,
                       const std::string& source) {
  const BlockScheme& scheme = *block_scheme(spec.scheme);
  const Shape shape = block_shape(spec);
  const int64_t columns = shape[1], count = shape[0] * columns;
  const int64_t group = scheme.scaled > 0 ? scheme.scaled : columns;  // elements
  const BlockQuantizer quantizer(scheme);
  std::vector<float> scales(static_cast<size_t>(scheme.scale_count(shape[0], columns)));
  std::vector<float> x;
  std::atomic<bool> finite = true;
  int64_t first = 0;
  const auto quantize = [&](std::span<uint8_t> payload) -> Status {  // whole groups
    const int64_t n = scheme.columns(static_cast<int64_t>(payload.size()));
    x.resize(static_cast<size_t>(n));
    HONE_TRY(read(first, x));
    in_parts(session.pool(), (n + group - 1) / group, [&](int64_t g0, int64_t groups) {
      const int64_t begin = g0 * group, size = std::min(groups * group, n - begin);
      const bool good = quantizer.quantize(
          std::span(x).subspan(static_cast<size_t>(begin), static_cast<size_t>(size)), columns,
          payload.subspan(static_cast<size_t>(scheme.row_bytes(begin)),
                          static_cast<size_t>(scheme.row_bytes(size))),
          std::span(scales).subspan(static_cast<size_t>(first / group + g0),
                                    static_cast<size_t>(groups)));
      if (!good) finite = false;
    });
    first += n;
    return finite ? Status(Ok{}) : Status(not_finite(spec, source));
  };
  // Rows may be of any length, and those of a rank may end within a group.
  const int64_t group_bytes = scheme.row_bytes(group);
  BytesOfGroups payload(group_bytes, scheme.row_bytes(count));
  const auto fill = [&](std::span<std::byte> bytes) { return payload.next(bytes, quantize); };
  HONE_TRY(session.write_state(spec.name, {}, fill,
                               std::max(group_bytes, kPart / group_bytes * group_bytes)));
  if (!spec.nested) {
    write_floats(session, spec.name + kScales, scales);
    return Ok{};
  }
  const NestedScales nested = quantize_scales(scales);
  session.write_state(spec.name + kScales, std::as_bytes(std::span(nested.codes)));
  write_floats(session, spec.name + kNestedScales, nested.nested);
  write_floats(session, spec.name + kScaleOffset, {&nested.offset, 1});
  return Ok{};
}

Status copy_blocks(Session& session, const ParamSpec& spec, const WeightSource& weights,
                   const TensorInfo& t) {
  const BlockScheme& scheme = *block_scheme(spec.scheme);
  const int64_t row_bytes = scheme.row_bytes(block_shape(spec)[1]);
  std::atomic<bool> finite = true;
  int64_t first = 0;
  const auto fill = [&](std::span<std::byte> bytes) -> Status {
    HONE_TRY(weights.read_blocks(t.name, "", first, bytes));
    first += static_cast<int64_t>(bytes.size());
    if (!scheme.scales_inside()) return Ok{};
    in_parts(session.pool(), static_cast<int64_t>(bytes.size()) / scheme.bytes,
             [&](int64_t begin, int64_t blocks) {
               if (!finite_blocks(scheme, bytes.data() + begin * scheme.bytes, blocks))
                 finite = false;
             });
    return finite ? Status(Ok{}) : Status(not_finite(spec, t.file));
  };
  HONE_TRY(
      session.write_state(spec.name, {}, fill, std::max(row_bytes, kPart / row_bytes * row_bytes)));
  for (const KeptState& kept : kept_states(spec)) {
    if (kept.name == spec.name) continue;
    std::vector<std::byte> bytes(static_cast<size_t>(kept.type.bytes()));
    HONE_TRY(weights.read_blocks(t.name, kept.name.substr(spec.name.size()), 0, bytes));
    session.write_state(kept.name, bytes);
    if (kept.type.dtype == DType::f32 && session.count_not_finite(kept.name).count > 0)
      return not_finite(spec, t.file);
  }
  return Ok{};
}

std::vector<float> weight_values(const Session& session, const ParamSpec& spec) {
  if (spec.scheme.empty()) {
    if (session.state_type(spec.name).dtype == DType::f32)
      return session.state_values<float>(spec.name);
    std::vector<float> wide;
    for (const uint16_t bits : session.state_values<uint16_t>(spec.name))
      wide.push_back(bf16_to_f32(bits));
    return wide;
  }
  const Shape shape = block_shape(spec);
  if (const BlockScheme& scheme = *block_scheme(spec.scheme); scheme.scales_inside()) {
    std::vector<float> x(static_cast<size_t>(shape[0] * shape[1]));
    ggml_format(spec.scheme)
        ->decode(session.state_values<std::byte>(spec.name).data(),
                 shape[0] * shape[1] / scheme.block, x.data());
    return in_family_order(std::move(x), spec);
  }
  std::vector<float> scales;
  if (spec.nested) {
    NestedScales nested{session.state_values<uint8_t>(spec.name + kScales),
                        session.state_values<float>(spec.name + kNestedScales),
                        session.state_values<float>(spec.name + kScaleOffset)[0]};
    scales = widen_scales(nested);
  } else {
    scales = session.state_values<float>(spec.name + kScales);
  }
  return in_family_order(
      widen_matrix(*block_scheme(spec.scheme), session.state_values<uint8_t>(spec.name), scales,
                   shape[0], shape[1]),
      spec);
}

}  // namespace hone
