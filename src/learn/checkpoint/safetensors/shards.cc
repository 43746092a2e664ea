#include "learn/checkpoint/safetensors/shards.h"

#include <filesystem>
#include <set>

#include "learn/checkpoint/safetensors/errors.h"
#include "learn/checkpoint/safetensors/strict_json.h"

namespace hone {
namespace {

class ShardedSource final : public WeightSource {
 public:
  // Takes the tensors whose names are in `wanted`.
  void take(std::unique_ptr<WeightSource> shard, const std::set<std::string>& wanted) {
    for (const TensorInfo& t : shard->tensors()) {
      if (!wanted.contains(t.name)) continue;
      add(t);
      shard_of_.push_back(shard.get());
    }
    for (const auto& entry : shard->metadata()) metadata_.insert(entry);
    shards_.push_back(std::move(shard));
  }

 protected:
  Status read_tensor(size_t index, DType as, std::span<std::byte> out) const override {
    return shard_of_[index]->read(tensors_[index].name, as, out);
  }
  Status read_elements_of(size_t index, DType as, int64_t first,
                          std::span<std::byte> out) const override {
    return shard_of_[index]->read_range(tensors_[index].name, as, first, out);
  }

 private:
  std::vector<std::unique_ptr<WeightSource>> shards_;
  std::vector<const WeightSource*> shard_of_;  // beside tensors_
};

}  // namespace

Result<std::unique_ptr<WeightSource>> open_shard_index(
    const std::string& path,
    Result<std::unique_ptr<WeightSource>> (*open)(const std::string& path, Store& store),
    Store& store) {
  const auto wrong = [&](std::string what) {
    return Error(err::kShardIndexWrong, fmt::format("'{}': {}", path, what))
        .todo("download the whole checkpoint again: index and shards belong together");
  };
  const Json index =
      HONE_TRY(parse_strict_json(HONE_TRY(store.read(path)), err::kShardIndexWrong, path));
  if (!index.is_object()) return wrong("it is not an object");
  if (!index.contains("weight_map") || !index["weight_map"].is_object())
    return wrong("it has no weight_map");
  std::map<std::string, std::set<std::string>> by_shard;
  for (const auto& [name, shard] : index["weight_map"].items()) {
    if (!shard.is_string()) return wrong(fmt::format("tensor '{}' has no file name", name));
    const std::string file = shard.get<std::string>();
    if (file.empty() || file.find('/') != std::string::npos || file.front() == '.')
      return wrong(fmt::format(
          "the index puts tensor '{}' into '{}', which is not a plain file name", name, file));
    by_shard[file].insert(name);
  }
  auto source = std::make_unique<ShardedSource>();
  for (const auto& [shard, names] : by_shard) {
    const std::string shard_path = (std::filesystem::path(path).parent_path() / shard).string();
    if (const Store::Info info = HONE_TRY(store.info(shard_path)); !info.exists || info.folder)
      return wrong(fmt::format("shard '{}' cannot be opened", shard))
          .at(fmt::format("'{}' {}", shard_path, info.exists ? "is a folder" : "is not there"));
    source->take(HONE_TRY(open(shard_path, store)), names);
    for (const std::string& name : names)
      if (source->find(name) == nullptr)
        return wrong(fmt::format("shard '{}' has no tensor '{}'", shard, name));
  }
  return std::unique_ptr<WeightSource>(std::move(source));
}

}  // namespace hone
