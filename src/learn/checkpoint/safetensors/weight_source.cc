#include "learn/checkpoint/safetensors/weight_source.h"

#include <algorithm>

#include "learn/checkpoint/safetensors/errors.h"

namespace hone {

const TensorInfo* WeightSource::find(std::string_view name) const {
  const auto it = index_.find(std::string(name));
  return it == index_.end() ? nullptr : &tensors_[it->second];
}

Result<size_t> WeightSource::index_of(std::string_view name) const {
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
  return static_cast<size_t>(t - tensors_.data());
}

Status WeightSource::read(std::string_view name, DType as, std::span<std::byte> out) const {
  const size_t index = HONE_TRY(index_of(name));
  const Type& type = tensors_[index].type;
  HONE_BUG_IF(static_cast<int64_t>(out.size()) != type.count() * size_of(as),
              "read of '{}': {} as {} needs {} bytes, the buffer has {}", name, type.text(),
              name_of(as), type.count() * size_of(as), out.size());
  return read_tensor(index, as, out);
}

Status WeightSource::read_range(std::string_view name, DType as, int64_t first,
                                std::span<std::byte> out) const {
  const size_t index = HONE_TRY(index_of(name));
  const Type& type = tensors_[index].type;
  const auto bytes = static_cast<int64_t>(out.size());
  if (first == 0 && bytes == type.count() * size_of(as)) return read_tensor(index, as, out);
  HONE_BUG_IF(first < 0 || bytes % size_of(as) != 0 || bytes / size_of(as) > type.count() - first,
              "read of '{}': {} bytes of {} from element {} of {}", name, bytes, name_of(as), first,
              type.text());
  return read_elements_of(index, as, first, out);
}

Status WeightSource::read_blocks(std::string_view name, std::string_view part, int64_t first,
                                 std::span<std::byte> out) const {
  return read_blocks_of(HONE_TRY(index_of(name)), part, first, out);
}

Status WeightSource::read_blocks_of(size_t index, std::string_view, int64_t,
                                    std::span<std::byte>) const {
  HONE_BUG_IF(true, "'{}' has no blocks to read", tensors_[index].name);
  return Ok{};
}

Status WeightSource::read_elements_of(size_t index, DType as, int64_t first,
                                      std::span<std::byte> out) const {
  std::vector<std::byte> all(static_cast<size_t>(tensors_[index].type.count() * size_of(as)));
  HONE_TRY(read_tensor(index, as, all));
  const std::span<std::byte> part =
      std::span(all).subspan(static_cast<size_t>(first * size_of(as)));
  std::copy_n(part.begin(), out.size(), out.begin());
  return Ok{};
}

void WeightSource::add(TensorInfo info) {
  const bool fresh = index_.emplace(info.name, tensors_.size()).second;
  HONE_BUG_IF(!fresh, "tensor '{}' added twice", info.name);
  tensors_.push_back(std::move(info));
}

}  // namespace hone
