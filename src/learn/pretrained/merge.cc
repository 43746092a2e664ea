// A model and its adapter as one source of weights.
#include <cmath>

#include "learn/checkpoint/safetensors/convert.h"
#include "learn/models/errors.h"
#include "learn/pretrained/mxfp4.h"
#include "learn/pretrained/pretrained.h"
#include "learn/pretrained/weights.h"

namespace hone {
namespace {

// The adapter's change of one tensor of the model.
struct Change {
  std::string instead = {};   // its name in the adapter, for what is trained whole
  std::string lengths = {};   // DoRA's m [out]
  std::string first, second;  // A [r,in] and B [out,r]
  bool in_out = false;        // the weight is [in,out]
  double scale = 1;           // of B A
};

Result<std::vector<float>> values_of(const WeightSource& from, const std::string& name) {
  std::vector<float> x(static_cast<size_t>(from.find(name)->type.count()));
  HONE_TRY(from.read(name, DType::f32, std::as_writable_bytes(std::span(x))));
  return x;
}

class MergedWeights final : public WeightSource {
 public:
  MergedWeights(std::unique_ptr<WeightSource> base, std::unique_ptr<WeightSource> adapter,
                std::map<std::string, Change> changes)
      : base_(std::move(base)), adapter_(std::move(adapter)), changes_(std::move(changes)) {
    for (TensorInfo t : base_->tensors()) {
      if (changes_.contains(t.name)) t.scheme.clear();
      if (changes_.contains(t.name) || t.blocks != kMxfp4) t.blocks.clear();
      add(std::move(t));
    }
    metadata_ = base_->metadata();
  }

 protected:
  Status read_blocks_of(size_t index, std::string_view part, int64_t first,
                        std::span<std::byte> out) const override {
    return base_->read_blocks(tensors()[index].name, part, first, out);
  }
  Status read_tensor(size_t index, DType as, std::span<std::byte> out) const override {
    const TensorInfo& t = tensors()[index];
    const auto found = changes_.find(t.name);
    if (found == changes_.end()) return base_->read(t.name, as, out);
    const Change& change = found->second;
    if (!change.instead.empty()) return adapter_->read(change.instead, as, out);
    std::vector<float> w = HONE_TRY(values_of(*base_, t.name));
    const std::vector<float> a = HONE_TRY(values_of(*adapter_, change.first));
    const std::vector<float> b = HONE_TRY(values_of(*adapter_, change.second));
    const auto rank = static_cast<size_t>(adapter_->find(change.first)->type.shape[0]);
    const size_t in = a.size() / rank, outs = b.size() / rank;
    std::vector<float> lengths;
    if (!change.lengths.empty()) lengths = HONE_TRY(values_of(*adapter_, change.lengths));
    std::vector<double> row(in);
    for (size_t o = 0; o < outs; ++o) {
      std::fill(row.begin(), row.end(), 0.0);
      for (size_t k = 0; k < rank; ++k)
        for (size_t i = 0; i < in; ++i)
          row[i] += static_cast<double>(b[o * rank + k]) * static_cast<double>(a[k * in + i]);
      const auto at = [&](size_t i) -> float& {
        return w[change.in_out ? i * outs + o : o * in + i];
      };
      double squares = 0, factor = 1;
      for (size_t i = 0; i < in; ++i) {
        row[i] = static_cast<double>(at(i)) + change.scale * row[i];
        squares += row[i] * row[i];
      }
      if (!lengths.empty()) factor = static_cast<double>(lengths[o]) / std::sqrt(squares);
      for (size_t i = 0; i < in; ++i) at(i) = static_cast<float>(factor * row[i]);
    }
    const std::string_view why = convert(Stored::f32, reinterpret_cast<const std::byte*>(w.data()),
                                         as, out.data(), static_cast<int64_t>(w.size()));
    return why.empty() ? Status(Ok{}) : Status(not_convertible(t, as, why));
  }

  Status read_elements_of(size_t index, DType as, int64_t first,
                          std::span<std::byte> out) const override {
    const std::string& name = tensors()[index].name;
    if (changes_.contains(name)) return WeightSource::read_elements_of(index, as, first, out);
    return base_->read_range(name, as, first, out);
  }

 private:
  const std::unique_ptr<WeightSource> base_, adapter_;
  const std::map<std::string, Change> changes_;
};

}  // namespace

Status merge_adapter(Pretrained& model) {
  if (!model.config.adapter) return Ok{};
  HONE_BUG_IF(!model.weights || !model.adapter, "an adapter without weights is merged");
  HONE_TRY(check_adapter_weights(*model.adapter, model));
  HONE_TRY(check_weights(*model.weights, model.config));
  if (!model.config.adapter->parameters.empty())
    return Error(err::kBadAdapter, "an adapter of matrices of experts cannot be merged into them")
        .todo("use the adapter's folder beside its model");
  std::map<std::string, Change> changes;
  for (const ParamSpec& spec : family_of(model.config).params(model.config)) {
    if (spec.part == ParamSpec::Part::added) continue;
    const TensorInfo* t = find_weight(*model.weights, model.config, spec);
    if (t == nullptr) continue;
    if (spec.part == ParamSpec::Part::saved) {
      changes[t->name].instead = find_adapter_weight(*model.adapter, spec)->name;
      continue;
    }
    constexpr std::string_view kEnding = ".weight";
    if (!spec.name.ends_with(kEnding)) continue;
    const std::string layer = spec.name.substr(0, spec.name.size() - kEnding.size());
    const std::string at = kAdapterPrefix + layer + ".";
    if (model.adapter->find(at + "lora_A.weight") == nullptr) continue;
    const Adapter& adapter = *model.config.adapter;
    changes[t->name] = {"",
                        adapter.dora ? at + "lora_magnitude_vector" : "",
                        at + "lora_A.weight",
                        at + "lora_B.weight",
                        spec.in_out,
                        adapter.scale_of(layer)};
  }
  model.weights = std::make_unique<MergedWeights>(std::move(model.weights),
                                                  std::move(model.adapter), std::move(changes));
  model.config.adapter.reset();
  model.config.quantization.reset();
  return Ok{};
}

}  // namespace hone
