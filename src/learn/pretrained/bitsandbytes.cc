#include "learn/pretrained/bitsandbytes.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/core/dynamic_map.h"
#include "base/core/json.h"
#include "learn/checkpoint/safetensors/convert.h"
#include "learn/models/quantization.h"
#include "learn/pretrained/errors.h"
#include "learn/pretrained/mxfp4.h"
#include "learn/pretrained/quantize.h"

namespace hone {
namespace {

constexpr std::string_view kState = ".quant_state.bitsandbytes__";
constexpr std::string_view kRowScales = ".SCB", kRowFormat = ".weight_format", kWeight = ".weight";
constexpr int64_t kMostElements = int64_t{1} << 48;

// One weight in blocks.
struct KeptWeight {
  BlockScheme scheme;
  int64_t rows = 0, columns = 0;   // [out,in]
  bool turned = false;             // the family has it [in,out]
  std::string payload, scales;     // tensors of the file
  std::string nested_scales = {};  // "": scales are f32
  float offset = 0;
};

class BitsAndBytesSource final : public WeightSource {
 public:
  explicit BitsAndBytesSource(std::unique_ptr<WeightSource> base) : base_(std::move(base)) {
    metadata_ = base_->metadata();
  }

  Status open(const std::set<std::string>& turned) {
    std::map<std::string, KeptWeight> kept;  // by the weight
    std::set<std::string> beside;
    for (const TensorInfo& t : base_->tensors()) {
      if (const size_t at = t.name.find(kState); at != t.name.npos) {
        const std::string weight = t.name.substr(0, at);
        kept[weight] = HONE_TRY(in_four_bits(weight, t.name.substr(at + kState.size()), t));
        for (const char* part : {".absmax", ".quant_map", ".nested_absmax", ".nested_quant_map"})
          beside.insert(weight + part);
        beside.insert(t.name);
      } else if (t.name.ends_with(kRowScales)) {
        const std::string layer = t.name.substr(0, t.name.size() - kRowScales.size());
        const std::string weight = layer + std::string(kWeight);
        kept[weight] = HONE_TRY(in_eight_bits(weight, layer, t));
        beside.insert(t.name);
        beside.insert(layer + std::string(kRowFormat));
      }
    }
    for (TensorInfo t : base_->tensors()) {
      if (beside.contains(t.name)) continue;
      KeptWeight one;
      if (const auto found = kept.find(t.name); found != kept.end()) {
        one = std::move(found->second);
        one.turned = turned.contains(t.name);
        t.type = {DType::f32,
                  one.turned ? Shape{one.columns, one.rows} : Shape{one.rows, one.columns}};
        t.scheme = "bitsandbytes " + one.scheme.name;
        t.nested = !one.nested_scales.empty();
        const bool usual = one.scheme.scaled == block_scheme(one.scheme.name)->scaled;
        if (usual && one.scheme.holds(one.columns)) t.blocks = one.scheme.name;
      }
      add(std::move(t));
      kept_.push_back(std::move(one));
    }
    return Ok{};
  }

 protected:
  Status read_tensor(size_t index, DType as, std::span<std::byte> out) const override {
    const TensorInfo& t = tensors_[index];
    const KeptWeight& w = kept_[index];
    if (w.payload.empty()) return base_->read(t.name, as, out);
    if (!is_float(as)) return not_convertible(t, as, "its values are in blocks");
    const std::vector<std::byte> payload = HONE_TRY(bytes_of(w.payload));
    std::vector<float> scales;
    if (w.nested_scales.empty()) {
      scales = HONE_TRY(floats_of(w.scales));
    } else {
      const std::vector<std::byte> codes = HONE_TRY(bytes_of(w.scales));
      NestedScales narrow;
      narrow.nested = HONE_TRY(floats_of(w.nested_scales));
      narrow.offset = w.offset;
      for (const std::byte b : codes) narrow.codes.push_back(std::to_integer<uint8_t>(b));
      scales = widen_scales(narrow);
    }
    std::vector<float> x =
        widen_matrix(w.scheme, {reinterpret_cast<const uint8_t*>(payload.data()), payload.size()},
                     scales, w.rows, w.columns);
    if (w.turned) {
      std::vector<float> turned(x.size());
      const auto rows = static_cast<size_t>(w.rows), columns = static_cast<size_t>(w.columns);
      for (size_t r = 0; r < rows; ++r)
        for (size_t c = 0; c < columns; ++c) turned[c * rows + r] = x[r * columns + c];
      x = std::move(turned);
    }
    const std::string_view why = convert(Stored::f32, reinterpret_cast<const std::byte*>(x.data()),
                                         as, out.data(), static_cast<int64_t>(x.size()));
    return why.empty() ? Status(Ok{}) : Status(not_convertible(t, as, why));
  }

  Status read_elements_of(size_t index, DType as, int64_t first,
                          std::span<std::byte> out) const override {
    if (kept_[index].payload.empty())
      return base_->read_range(tensors_[index].name, as, first, out);
    return WeightSource::read_elements_of(index, as, first, out);
  }

  Status read_blocks_of(size_t index, std::string_view part, int64_t first,
                        std::span<std::byte> out) const override {
    const KeptWeight& w = kept_[index];
    if (part == kScaleOffset) {
      HONE_BUG_IF(first != 0 || out.size() != sizeof w.offset, "an offset of {} bytes", out.size());
      std::memcpy(out.data(), &w.offset, sizeof w.offset);
      return Ok{};
    }
    const std::string& name = part.empty()      ? w.payload
                              : part == kScales ? w.scales
                                                : w.nested_scales;
    HONE_BUG_IF(name.empty(), "'{}' has no part '{}'", tensors_[index].name, part);
    if (part == kScales && w.nested_scales.empty())
      return base_->read_range(name, DType::f32, first / 4, out);
    if (part == kNestedScales) return base_->read_range(name, DType::f32, first / 4, out);
    const TensorInfo& t = *base_->find(name);
    if (size_of(t.type.dtype) == 1) return base_->read_range(name, t.type.dtype, first, out);
    const std::vector<std::byte> all =
        HONE_TRY(bytes_of(name));  // of another bnb_4bit_quant_storage
    std::copy_n(all.begin() + first, out.size(), out.begin());
    return Ok{};
  }

 private:
  Error refused(const std::string& weight, const std::string& why) const {
    return Error(err::kBadQuantState, fmt::format("'{}' {}", weight, why))
        .at(base_->tensors().front().file)
        .todo(
            "save the model again with Transformers and bitsandbytes, or use the checkpoint that "
            "it was made of");
  }

  Result<std::vector<std::byte>> bytes_of(const std::string& name) const {
    const TensorInfo& t = *base_->find(name);
    std::vector<std::byte> bytes(static_cast<size_t>(t.type.bytes()));
    HONE_TRY(base_->read(name, t.type.dtype, bytes));
    return bytes;
  }
  Result<std::vector<float>> floats_of(const std::string& name) const {
    std::vector<float> x(static_cast<size_t>(base_->find(name)->type.count()));
    HONE_TRY(base_->read(name, DType::f32, std::as_writable_bytes(std::span(x))));
    return x;
  }

  // The tensor beside the weight, of `count` elements.
  Result<const TensorInfo*> part(const std::string& weight, const std::string& name, int64_t count,
                                 bool floats) const {
    const TensorInfo* t = base_->find(name);
    if (t == nullptr) return refused(weight, fmt::format("lacks the tensor '{}'", name));
    const bool right =
        t->scheme.empty() && (floats ? is_float(t->type.dtype) : t->type.dtype == DType::u8);
    if (!right || t->type.count() != count)
      return refused(weight, fmt::format("needs '{}' with {} {}, the file has {}", name, count,
                                         floats ? "floats" : "bytes", t->type.text()));
    return t;
  }

  // The numbers that a code stands for are those that hone knows.
  Status check_code(const std::string& weight, const std::string& name,
                    std::span<const float> want) const {
    HONE_TRY(part(weight, name, std::ssize(want), true));
    const std::vector<float> code = HONE_TRY(floats_of(name));
    for (size_t i = 0; i < code.size(); ++i)
      if (!(std::fabs(code[i] - want[i]) <= 1e-6f))
        return refused(weight,
                       fmt::format("has another code in '{}': element {} is {}", name, i, code[i]));
    return Ok{};
  }

  Result<KeptWeight> in_four_bits(const std::string& weight, const std::string& kind,
                                  const TensorInfo& state) const {
    KeptWeight w;
    if (state.type.dtype != DType::u8 || state.type.count() > 65536)
      return refused(weight, fmt::format("has the state {}", state.type.text()));
    const std::vector<std::byte> bytes = HONE_TRY(bytes_of(state.name));
    Json json;
    const auto fault = parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                                  JsonRules{.max_depth = 8}, json);
    if (fault || !json.is_object()) return refused(weight, "has a state that is not a JSON object");
    const auto whole = [&](const char* key, int64_t otherwise) {
      const auto it = json.find(key);
      return it != json.end() && it->is_number_integer() ? it->get<int64_t>() : otherwise;
    };
    if (kind != "nf4" && kind != "fp4")
      return refused(weight, fmt::format("is kept as '{}'", kind));
    w.scheme = *block_scheme(kind);
    w.scheme.scaled = whole("blocksize", 0);
    if (w.scheme.scaled < 2 || w.scheme.scaled > 65536 || w.scheme.scaled % 2 != 0)
      return refused(weight, fmt::format("has blocks of {} elements", w.scheme.scaled));
    const Json& shape = json.contains("shape") ? json["shape"] : Json();
    if (!shape.is_array() || shape.size() != 2 || !shape[0].is_number_integer() ||
        !shape[1].is_number_integer())
      return refused(weight, "has a state without the shape of a matrix");
    w.rows = shape[0].get<int64_t>();
    w.columns = shape[1].get<int64_t>();
    if (w.rows < 1 || w.columns < 1 || w.rows > kMostElements / w.columns)
      return refused(weight, fmt::format("has the shape [{},{}]", w.rows, w.columns));
    const int64_t count = w.rows * w.columns,
                  scales = (count + w.scheme.scaled - 1) / w.scheme.scaled;
    w.payload = weight;
    w.scales = weight + kScales;
    const TensorInfo* payload = base_->find(weight);
    if (payload == nullptr || !payload->scheme.empty() || payload->type.bytes() != (count + 1) / 2)
      return refused(weight, fmt::format("is not {} bytes, two elements in each", (count + 1) / 2));
    HONE_TRY(check_code(weight, weight + ".quant_map", {w.scheme.code, 16}));
    const bool nested = base_->find(weight + kNestedScales) != nullptr;
    HONE_TRY(part(weight, w.scales, scales, !nested));
    if (!nested) return w;
    w.nested_scales = weight + kNestedScales;
    const auto offset = json.find("nested_offset");
    if (whole("nested_blocksize", 0) != kNestedBlock || offset == json.end() ||
        !offset->is_number())
      return refused(
          weight, fmt::format("has scales in 8 bits without nested_offset or not in blocks of {}",
                              kNestedBlock));
    w.offset = static_cast<float>(offset->get<double>());
    HONE_TRY(part(weight, w.nested_scales, (scales + kNestedBlock - 1) / kNestedBlock, true));
    HONE_TRY(check_code(weight, weight + ".nested_quant_map", dynamic_map(true)));
    return w;
  }

  Result<KeptWeight> in_eight_bits(const std::string& weight, const std::string& layer,
                                   const TensorInfo& scales) const {
    const TensorInfo* payload = base_->find(weight);
    if (payload == nullptr || payload->type.dtype != DType::i8 || payload->type.rank() != 2)
      return refused(weight, "is not a matrix in int8 beside its row scales");
    KeptWeight w{*block_scheme("int8"),
                 payload->type.shape[0],
                 payload->type.shape[1],
                 false,
                 weight,
                 scales.name};
    HONE_TRY(part(weight, scales.name, w.rows, true));
    if (base_->find(layer + std::string(kRowFormat)) == nullptr) return w;
    HONE_TRY(part(weight, layer + std::string(kRowFormat), 1, false));
    if (const auto format = HONE_TRY(bytes_of(layer + std::string(kRowFormat)));
        format[0] != std::byte{0})
      return refused(weight, "has its elements in the order of one kind of GPU, not row by row");
    return w;
  }

  const std::unique_ptr<WeightSource> base_;
  std::vector<KeptWeight> kept_;  // besides tensors_; no payload: as stored
};

}  // namespace

Result<std::unique_ptr<WeightSource>> read_bitsandbytes(std::unique_ptr<WeightSource> weights,
                                                        const std::set<std::string>& turned) {
  const auto in_blocks = [](const TensorInfo& t) {
    return t.name.find(kState) != t.name.npos || t.name.ends_with(kRowScales);
  };
  const std::vector<TensorInfo>& all = weights->tensors();
  if (std::none_of(all.begin(), all.end(), in_blocks)) return weights;
  auto source = std::make_unique<BitsAndBytesSource>(std::move(weights));
  HONE_TRY(source->open(turned));
  return std::unique_ptr<WeightSource>(std::move(source));
}

Result<std::shared_ptr<const Quantization>> quantization_of_config(const ModelConfig& config) {
  const auto found = config.config.find("quantization_config");
  if (found == config.config.end() || !found->is_object()) return nullptr;
  const Json& given = *found;
  const auto flag = [&](const char* key) { return given.contains(key) && given[key] == true; };
  const auto text = [&](const char* key) {
    return given.contains(key) && given[key].is_string() ? given[key].get<std::string>()
                                                         : std::string();
  };
  const bool four = flag("load_in_4bit") || flag("_load_in_4bit");
  if (text("quant_method") == kMxfp4) return nullptr;  // read_mxfp4 finds it in the tensors
  if (const std::string method = text("quant_method"); method != "bitsandbytes" && !method.empty())
    return Error(err::kBadQuantState, fmt::format("the model is quantized by '{}'", method))
        .at("config.json: quantization_config")
        .todo(
            "use the checkpoint that it was made from; --load_in_4bit keeps its weights in 4 bits");
  if (!four && !flag("load_in_8bit") && !flag("_load_in_8bit")) return nullptr;
  Quantization q;
  q.scheme = !four ? "int8" : text("bnb_4bit_quant_type") == "nf4" ? "nf4" : "fp4";
  q.nested = four && flag("bnb_4bit_use_double_quant");
  q.bf16 = four && text("bnb_4bit_compute_dtype") == "bfloat16";
  if (given.contains("llm_int8_skip_modules") && given["llm_int8_skip_modules"].is_array())
    for (const Json& module : given["llm_int8_skip_modules"])
      if (module.is_string()) q.skipped.push_back(module.get<std::string>());
  return std::make_shared<const Quantization>(std::move(q));
}

}  // namespace hone
