#include "learn/pretrained/mxfp4.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <mutex>
#include <vector>

#include "learn/checkpoint/safetensors/convert.h"
#include "learn/checkpoint/safetensors/derived_weights.h"
#include "learn/models/config.h"

namespace hone {
namespace {

constexpr std::string_view kBlockEnding = "_blocks", kScaleEnding = "_scales";
constexpr int64_t kBlockBytes = 16, kBlockElements = 32;
constexpr int64_t kSchemeBytes = 1 + kBlockBytes;      // with the scale before the codes
constexpr int64_t kReadTogether = kSchemeBytes << 16;  // bytes that are read together
constexpr std::array<float, 16> kE2m1 = {0,     0.5f,  1,  1.5f,  2,  3,  4,  6,
                                         -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6};

class Mxfp4Weights final : public DerivedWeights {
 public:
  explicit Mxfp4Weights(std::unique_ptr<WeightSource> base) : DerivedWeights(std::move(base)) {}
  void widen(TensorInfo info, std::string blocks, std::string scales) {
    pairs_[tensors_.size()] = {std::move(blocks), std::move(scales)};
    take(std::move(info), "");
  }

 protected:
  Status read_elements_of(size_t index, DType as, int64_t first,
                          std::span<std::byte> out) const override {
    const auto found = pairs_.find(index);
    if (found == pairs_.end()) return DerivedWeights::read_elements_of(index, as, first, out);
    const TensorInfo& t = tensors()[index];
    const int64_t inner = t.type.shape[1], columns = t.type.shape[2], each = inner * columns;
    constexpr int64_t kSome = 4096;
    std::vector<float> wide(kSome);
    for (size_t done = 0; done < out.size();) {
      const int64_t expert = first / each, here = first % each;
      const int64_t left = static_cast<int64_t>((out.size() - done)) / size_of(as);
      const int64_t count = std::min(kSome, std::min(each - here, left));
      const std::lock_guard lock(mutex_);
      HONE_TRY(fetch(index, found->second, expert, inner, columns));
      for (int64_t i = 0; i < count; ++i)
        wide[static_cast<size_t>(i)] = element((here + i) / columns, (here + i) % columns, inner);
      const std::string_view why =
          convert(Stored::f32, reinterpret_cast<const std::byte*>(wide.data()), as,
                  out.data() + done, count);
      if (!why.empty()) return not_convertible(t, as, why);
      done += static_cast<size_t>(count * size_of(as));
      first += count;
    }
    return Ok{};
  }

  // The scale of a block before its codes, whose first half is in the low halves of bytes.
  Status read_blocks_of(size_t index, std::string_view part, int64_t first,
                        std::span<std::byte> out) const override {
    const auto found = pairs_.find(index);
    if (found == pairs_.end()) return DerivedWeights::read_blocks_of(index, part, first, out);
    const auto count = std::ssize(out) / kSchemeBytes, start = first / kSchemeBytes;
    HONE_BUG_IF(!part.empty() || first % kSchemeBytes != 0 || std::ssize(out) % kSchemeBytes != 0,
                "bytes [{}, +{}) of part '{}'", first, out.size(), part);
    std::vector<std::byte> codes(static_cast<size_t>(count * kBlockBytes)),
        scales(static_cast<size_t>(count));
    HONE_TRY(base_->read_range(found->second.blocks, DType::u8, start * kBlockBytes, codes));
    HONE_TRY(base_->read_range(found->second.scales, DType::u8, start, scales));
    for (int64_t b = 0; b < count; ++b) {
      const std::byte* from = codes.data() + b * kBlockBytes;
      std::byte* to = out.data() + b * kSchemeBytes;
      *to++ = scales[static_cast<size_t>(b)];
      const auto code = [&](int64_t i) { return from[i / 2] >> (i % 2 * 4) & std::byte{15}; };
      for (int64_t i = 0; i < kBlockBytes; ++i) to[i] = code(i) | code(i + kBlockBytes) << 4;
    }
    return Ok{};
  }

 private:
  struct Pair {
    std::string blocks, scales;
  };

  // Reads the blocks and scales of an expert, unless they were read last.
  Status fetch(size_t index, const Pair& pair, int64_t expert, int64_t inner,
               int64_t columns) const {
    if (held_ == std::pair{index, expert}) return Ok{};
    held_ = {tensors_.size(), -1};
    const int64_t scales = columns * inner / kBlockElements;
    scales_.resize(static_cast<size_t>(scales));
    blocks_.resize(static_cast<size_t>(scales * kBlockBytes));
    HONE_TRY(base_->read_range(pair.blocks, DType::u8, expert * scales * kBlockBytes, blocks_));
    HONE_TRY(base_->read_range(pair.scales, DType::u8, expert * scales, scales_));
    held_ = {index, expert};
    return Ok{};
  }
  // Row k, column m of the matrix [K,M] that was fetched.
  float element(int64_t k, int64_t m, int64_t inner) const {
    const int64_t block = (m * inner + k) / kBlockElements, in_block = k % kBlockElements;
    const auto byte =
        static_cast<uint8_t>(blocks_[static_cast<size_t>(block * kBlockBytes + in_block / 2)]);
    const auto scale = static_cast<int>(scales_[static_cast<size_t>(block)]) - 127;
    return std::ldexp(kE2m1[in_block % 2 == 0 ? byte & 15 : byte >> 4], scale);
  }

  std::map<size_t, Pair> pairs_;  // by tensor
  mutable std::mutex mutex_;      // of what follows
  mutable std::pair<size_t, int64_t> held_ = {0, -1};
  mutable std::vector<std::byte> blocks_, scales_;
};

// The tensor that X_blocks and X_scales are; an empty name: they are none.
TensorInfo widened_info(const TensorInfo& blocks, const TensorInfo* scales) {
  TensorInfo t = blocks;
  t.name.clear();
  const Shape& s = blocks.type.shape;
  if (scales == nullptr || s.size() != 4 || s[3] != kBlockBytes || blocks.type.dtype != DType::u8 ||
      scales->type != Type{DType::u8, {s[0], s[1], s[2]}})
    return t;
  t.name = blocks.name.substr(0, blocks.name.size() - kBlockEnding.size());
  t.type = {DType::f32, {s[0], s[2] * kBlockElements, s[1]}};
  t.bytes += scales->bytes;
  t.scheme = "MXFP4";
  t.blocks = kMxfp4;
  return t;
}

}  // namespace

bool is_in_mxfp4(const ModelConfig& c) {
  const auto found = c.config.find("quantization_config");
  return found != c.config.end() && found->is_object() &&
         found->value("quant_method", "") == kMxfp4;
}

std::unique_ptr<WeightSource> read_mxfp4(std::unique_ptr<WeightSource> weights) {
  const auto scales_of = [](const TensorInfo& t) {
    if (!t.name.ends_with(kBlockEnding)) return std::string();
    return t.name.substr(0, t.name.size() - kBlockEnding.size()) + std::string(kScaleEnding);
  };
  std::map<std::string, TensorInfo> made;  // by the name of the blocks
  std::map<std::string, std::string> scales;
  for (const TensorInfo& t : weights->tensors()) {
    const std::string name = scales_of(t);
    if (name.empty()) continue;
    TensorInfo info = widened_info(t, weights->find(name));
    if (info.name.empty()) continue;
    made[t.name] = std::move(info);
    scales[name] = t.name;
  }
  if (made.empty()) return weights;
  auto wide = std::make_unique<Mxfp4Weights>(std::move(weights));
  for (const TensorInfo& t : wide->base().tensors()) {
    if (const auto found = made.find(t.name); found != made.end())
      wide->widen(std::move(found->second), t.name, scales_of(t));
    else if (!scales.contains(t.name))
      wide->keep(t);
  }
  return wide;
}

std::vector<TensorData> mxfp4_pair(const WeightSource& weights, const TensorInfo& t,
                                   const std::string& name) {
  const Shape& s = t.type.shape;  // [E,K,M]
  const Shape scales{s[0], s[2], s[1] / kBlockElements};
  Shape blocks = scales;
  blocks.push_back(kBlockBytes);
  const auto with_parts = [&](std::string_view ending, Shape shape, auto take) {
    TensorData data{name + std::string(ending), {DType::u8, std::move(shape)}, {}, {}};
    data.blocks = [&weights, source = t.name, bytes = t.bytes, take](BlockSink sink) -> Status {
      std::vector<std::byte> kept, out;
      for (int64_t first = 0; first < bytes; first += kReadTogether) {
        kept.resize(static_cast<size_t>(std::min(kReadTogether, bytes - first)));
        HONE_TRY(weights.read_blocks(source, "", first, kept));
        out.clear();
        for (size_t b = 0; b < kept.size(); b += kSchemeBytes) take(kept.data() + b, out);
        HONE_TRY(sink(out));
      }
      return Ok{};
    };
    return data;
  };
  const auto codes = [](const std::byte* block, std::vector<std::byte>& out) {
    const auto code = [&](int64_t i) {
      return block[1 + i % kBlockBytes] >> (i < kBlockBytes ? 0 : 4) & std::byte{15};
    };
    for (int64_t i = 0; i < kBlockElements; i += 2) out.push_back(code(i) | code(i + 1) << 4);
  };
  const auto scale = [](const std::byte* block, std::vector<std::byte>& out) {
    out.push_back(*block);
  };
  return {with_parts(kBlockEnding, blocks, codes), with_parts(kScaleEnding, scales, scale)};
}

}  // namespace hone
