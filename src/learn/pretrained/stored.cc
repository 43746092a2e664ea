#include "learn/pretrained/stored.h"

#include "learn/checkpoint/open_weights.h"
#include "learn/models/family.h"
#include "learn/pretrained/mxfp4.h"

namespace hone {

std::shared_ptr<const Quantization> as_stored() {
  static const auto form = std::make_shared<const Quantization>(Quantization{.scheme = ""});
  return form;
}

bool is_as_stored(const std::shared_ptr<const Quantization>& q) {
  return q != nullptr && q == as_stored();
}

Result<std::shared_ptr<const Quantization>> form_in_file(const Pretrained& p,
                                                         const std::string& gguf) {
  Quantization q;
  if (!p.weights && gguf.empty()) {  // a config alone
    for (const ParamSpec& spec : family_of(p.config).params(p.config))
      if (spec.shape.size() == 3 && spec.in_out) q.of_file[spec.name] = kMxfp4;
    return std::make_shared<const Quantization>(std::move(q));
  }
  const std::unique_ptr<WeightSource> opened = p.weights ? nullptr : HONE_TRY(open_weights(gguf));
  for (const TensorInfo& t : (p.weights ? *p.weights : *opened).tensors())
    if (!t.blocks.empty()) q.of_file[t.name] = t.blocks;
  if (q.of_file.empty()) return nullptr;
  return std::make_shared<const Quantization>(std::move(q));
}

WeightStorage storage_in_file(const WeightSource& weights) {
  bool any = false;
  for (const TensorInfo& t : weights.tensors()) {
    if (t.type.shape.size() != 2 || !t.blocks.empty()) continue;
    if (t.type.dtype != DType::bf16 || !t.scheme.empty()) return WeightStorage::f32;
    any = true;
  }
  return any ? WeightStorage::bf16 : WeightStorage::f32;
}

}  // namespace hone
