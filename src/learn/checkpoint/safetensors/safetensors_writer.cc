#include "learn/checkpoint/safetensors/safetensors_writer.h"

#include <algorithm>

#include "learn/checkpoint/safetensors/convert.h"
#include "learn/checkpoint/safetensors/errors.h"
#include "learn/checkpoint/safetensors/strict_json.h"

namespace hone {
namespace {

constexpr int64_t kWriterChunk = int64_t{4} << 20;

std::string_view format_of(DType t) {
  switch (t) {
    case DType::f64:
      return "F64";
    case DType::f32:
      return "F32";
    case DType::bf16:
      return "BF16";
    case DType::f16:
      return "F16";
    case DType::i64:
      return "I64";
    case DType::i32:
      return "I32";
    case DType::i8:
      return "I8";
    case DType::u8:
      return "U8";
    case DType::boolean:
      return "BOOL";
  }
  throw_bug(__FILE__, __LINE__, "safetensors: no such DType");
}

// The reference library's order of element types (its enum, largest first).
int rank_of(DType t) {
  constexpr DType kOrder[] = {DType::boolean, DType::u8,  DType::i8,  DType::f16, DType::bf16,
                              DType::i32,     DType::f32, DType::f64, DType::i64};
  return static_cast<int>(std::find(std::begin(kOrder), std::end(kOrder), t) - std::begin(kOrder));
}

DType target_of(const TensorData& t) { return t.as.value_or(t.type.dtype); }
int64_t bytes_of(const TensorData& t) { return t.type.count() * size_of(target_of(t)); }

Status each_block(const TensorData& t, BlockSink sink) {
  return t.blocks ? t.blocks(sink) : sink(t.bytes);
}

Status write_tensor(HashedFile& out, const TensorData& t) {
  if (target_of(t) == t.type.dtype)
    return each_block(t, [&](std::span<const std::byte> block) { return out.write(block); });
  const int64_t from = size_of(t.type.dtype);
  const int64_t to = size_of(target_of(t));
  const int64_t step = kWriterChunk / std::max(from, to);
  std::vector<std::byte> chunk(static_cast<size_t>(std::min(step, t.type.count()) * to));
  return each_block(t, [&](std::span<const std::byte> block) -> Status {
    const int64_t count = static_cast<int64_t>(block.size()) / from;
    for (int64_t i = 0; i < count; i += step) {
      const int64_t n = std::min(step, count - i);
      const std::string_view why =
          convert(stored_of(t.type.dtype), block.data() + i * from, target_of(t), chunk.data(), n);
      if (!why.empty())
        return Error(err::kTensorConversion,
                     fmt::format("tensor '{}' is {} and cannot be saved as {}: {}", t.name,
                                 t.type.text(), name_of(target_of(t)), why));
      HONE_TRY(out.write(std::span<const std::byte>(chunk).first(static_cast<size_t>(n * to))));
    }
    return Ok{};
  });
}

std::string quoted(const std::string& text) { return json_text(Json(text), -1); }

}  // namespace

Status remove_stale(const std::string& folder, const std::string& stem,
                    const std::vector<WrittenFile>& kept, Store& store) {
  for (const Store::Entry& e : HONE_TRY(store.list(folder))) {
    const bool shard = e.name.starts_with(stem + "-") && e.name.ends_with(".safetensors") &&
                       e.name.find("-of-") != std::string::npos;
    const bool ours =
        shard || e.name == stem + ".safetensors" || e.name == stem + ".safetensors.index.json";
    const bool stale = std::none_of(kept.begin(), kept.end(),
                                    [&](const WrittenFile& f) { return f.name == e.name; });
    if (ours && stale) HONE_TRY(store.remove(folder + "/" + e.name));
  }
  return Ok{};
}

Status write_safetensors(HashedFile& out, std::span<const TensorData> tensors,
                         const Metadata& metadata) {
  std::vector<const TensorData*> order;
  for (const TensorData& t : tensors) {
    HONE_BUG_IF(!t.blocks && static_cast<int64_t>(t.bytes.size()) != t.type.bytes(),
                "tensor '{}': {} needs {} bytes, {} were given", t.name, t.type.text(),
                t.type.bytes(), t.bytes.size());
    order.push_back(&t);
  }
  std::sort(order.begin(), order.end(), [](const TensorData* a, const TensorData* b) {
    const int ra = rank_of(target_of(*a)), rb = rank_of(target_of(*b));
    return ra != rb ? ra > rb : a->name < b->name;
  });
  std::string header = "{";
  if (!metadata.empty()) {
    header += "\"__metadata__\":{";
    for (const auto& [key, value] : metadata) header += quoted(key) + ":" + quoted(value) + ",";
    header.back() = '}';
    header += ',';
  }
  int64_t at = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const TensorData& t = *order[i];
    HONE_BUG_IF(i > 0 && order[i - 1]->name == t.name, "tensor '{}' given twice", t.name);
    header += fmt::format("{}:{{\"dtype\":\"{}\",\"shape\":{},\"data_offsets\":[{},{}]}},",
                          quoted(t.name), format_of(target_of(t)), text_of(t.type.shape), at,
                          at + bytes_of(t));
    at += bytes_of(t);
  }
  if (header.size() > 1) header.pop_back();
  header += '}';
  header.resize((header.size() + 7) / 8 * 8,
                ' ');  // so that every tensor is aligned to its elements
  const uint64_t length = header.size();
  HONE_TRY(out.write(std::as_bytes(std::span(&length, 1))));
  HONE_TRY(out.write(header));
  for (const TensorData* t : order) HONE_TRY(write_tensor(out, *t));
  return Ok{};
}

ShardPlan plan_shards(const std::string& stem, std::span<const TensorData> tensors,
                      int64_t max_shard_size) {
  ShardPlan plan;
  plan.members.emplace_back();
  int64_t filled = 0, total = 0, parameters = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const int64_t size = bytes_of(tensors[i]);
    if (filled + size > max_shard_size && !plan.members.back().empty()) {
      plan.members.emplace_back();
      filled = 0;
    }
    plan.members.back().push_back(i);
    filled += size;
    total += size;
    parameters += tensors[i].type.count();
  }
  const size_t n = plan.members.size();
  if (n == 1) {
    plan.files.push_back(stem + ".safetensors");
    return plan;
  }
  Json map = Json::object();
  for (size_t k = 0; k < n; ++k) {
    plan.files.push_back(fmt::format("{}-{:05}-of-{:05}.safetensors", stem, k + 1, n));
    for (const size_t i : plan.members[k]) map[tensors[i].name] = plan.files[k];
  }
  plan.index = json_text({{"metadata", {{"total_parameters", parameters}, {"total_size", total}}},
                          {"weight_map", map}}) +
               "\n";
  return plan;
}

Result<std::vector<WrittenFile>> write_shards(const std::string& folder, const std::string& stem,
                                              std::span<const TensorData> tensors,
                                              int64_t max_shard_size, Store& store) {
  const ShardPlan plan = plan_shards(stem, tensors, max_shard_size);
  std::vector<WrittenFile> written;
  const auto finish = [&](HashedFile& file, const std::string& name) -> Status {
    written.push_back({name, file.size(), file.digest()});
    return file.commit();
  };
  for (size_t k = 0; k < plan.files.size(); ++k) {
    std::vector<TensorData> members;
    for (const size_t i : plan.members[k]) members.push_back(tensors[i]);
    HashedFile file = HONE_TRY(HashedFile::create(folder + "/" + plan.files[k], store));
    HONE_TRY(write_safetensors(file, members));
    HONE_TRY(finish(file, plan.files[k]));
  }
  if (!plan.index.empty()) {
    const std::string name = stem + ".safetensors.index.json";
    HashedFile file = HONE_TRY(HashedFile::create(folder + "/" + name, store));
    HONE_TRY(file.write(plan.index));
    HONE_TRY(finish(file, name));
  }
  return written;
}

Status save_safetensors(const std::string& folder, const std::string& stem,
                        std::span<const TensorData> tensors, int64_t max_shard_size, Store& store) {
  HONE_TRY(store.make_dirs(folder));
  return remove_stale(folder, stem,
                      HONE_TRY(write_shards(folder, stem, tensors, max_shard_size, store)), store);
}

}  // namespace hone
