#include "learn/checkpoint/safetensors/weight_source.h"

#include "learn/checkpoint/safetensors/errors.h"

namespace hone {

const TensorInfo* WeightSource::find(std::string_view name) const {
  const auto it = index_.find(std::string(name));
  return it == index_.end() ? nullptr : &tensors_[it->second];
}

Status WeightSource::read(std::string_view name, DType as, std::span<std::byte> out) const {
  const TensorInfo* t = find(name);
  if (t == nullptr) {
    std::vector<std::string> names;
    for (const TensorInfo& known : tensors_) names.push_back(known.name);
    const std::string near = nearest_name(name, names);
    const std::string file =
        tensors_.empty() ? "the checkpoint" : "'" + tensors_.front().file + "'";
    return Error(err::kTensorMissing, fmt::format("{} has no tensor '{}'", file, name))
        .todo(near.empty()
                  ? "check that config.json and the weights belong to the same model"
                  : fmt::format(
                        "the nearest name is '{}': do config.json and weights belong together?",
                        near));
  }
  HONE_BUG_IF(static_cast<int64_t>(out.size()) != t->type.count() * size_of(as),
              "read of '{}': {} as {} needs {} bytes, the buffer has {}", name, t->type.text(),
              name_of(as), t->type.count() * size_of(as), out.size());
  return read_tensor(static_cast<size_t>(t - tensors_.data()), as, out);
}

void WeightSource::add(TensorInfo info) {
  const bool fresh = index_.emplace(info.name, tensors_.size()).second;
  HONE_BUG_IF(!fresh, "tensor '{}' added twice", info.name);
  tensors_.push_back(std::move(info));
}

}  // namespace hone
