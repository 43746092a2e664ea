#include "learn/checkpoint/parts.h"

#include <numeric>

#include "learn/checkpoint/safetensors/strict_json.h"

namespace hone {

Json PartFile::to_json() const {
  return {{"name", file.name},  {"bytes", file.bytes},  {"xxh64", hex_of(file.xxh64)},
          {"tensors", tensors}, {"elements", elements}, {"tensor_bytes", bytes}};
}

PartFile PartFile::from_json(const Json& json) {
  return {{json.at("name").get<std::string>(), json.at("bytes").get<int64_t>(),
           std::stoull(json.at("xxh64").get<std::string>(), nullptr, 16)},
          json.at("tensors").get<std::vector<std::string>>(),
          json.at("elements").get<int64_t>(),
          json.at("tensor_bytes").get<int64_t>()};
}

Result<PartFile> write_part(const std::string& folder, const std::string& stem, const Share& share,
                            std::span<const TensorData> tensors, Store& store) {
  PartFile part;
  part.file.name = share.alone() ? stem + ".safetensors"
                                 : fmt::format("{}-{:05}-of-{:05}.safetensors", stem,
                                               share.rank + 1, share.ranks);
  for (const TensorData& t : tensors) {
    part.tensors.push_back(t.name);
    part.elements += t.type.count();
    part.bytes += t.type.count() * size_of(t.as.value_or(t.type.dtype));
  }
  HashedFile file = HONE_TRY(HashedFile::create(folder + "/" + part.file.name, store));
  HONE_TRY(write_safetensors(file, tensors));
  part.file.bytes = file.size();
  part.file.xxh64 = file.digest();
  HONE_TRY(file.commit());
  return part;
}

std::string index_of_parts(const std::vector<PartFile>& parts) {
  Json map = Json::object();
  int64_t elements = 0, bytes = 0;
  for (const PartFile& part : parts) {
    for (const std::string& name : part.tensors) map[name] = part.file.name;
    elements += part.elements;
    bytes += part.bytes;
  }
  return json_text({{"metadata", {{"total_parameters", elements}, {"total_size", bytes}}},
                    {"weight_map", map}}) +
         "\n";
}

Status finish_parts(const std::string& folder, const std::string& stem,
                    const std::vector<PartFile>& parts, Store& store) {
  const std::string index = stem + ".safetensors.index.json";
  std::vector<WrittenFile> kept;
  if (parts.size() > 1) {
    HONE_TRY(store.write(folder + "/" + index, index_of_parts(parts)));
    kept.push_back({index, 0, 0});
  }
  for (const PartFile& part : parts) kept.push_back(part.file);
  return remove_stale(folder, stem, kept, store);
}

std::vector<size_t> divided_tensors(std::span<const int64_t> bytes, const Share& share) {
  const int64_t all = std::accumulate(bytes.begin(), bytes.end(), int64_t{0});
  std::vector<size_t> mine;
  int64_t before = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    // A tensor is of the rank in whose share its middle byte is.
    const int64_t middle = before + bytes[i] / 2;
    before += bytes[i];
    const int64_t rank = all == 0 ? 0 : middle * share.ranks / all;
    if (std::min(rank, share.ranks - 1) == share.rank) mine.push_back(i);
  }
  return mine;
}

}  // namespace hone
