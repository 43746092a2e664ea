#include "learn/checkpoint/imports/dcp_metadata.h"

#include <map>
#include <set>

#include "learn/checkpoint/imports/errors.h"
#include "learn/checkpoint/torch/torch_object.h"
#include "learn/pickle/pickle.h"

namespace hone {
namespace {

using Kind = PickleKind;

// Modules of the classes, in torch 2 and before.
constexpr const char* kMetadataModules[] = {"torch.distributed.checkpoint.metadata.",
                                            "torch.distributed._shard.checkpoint.metadata."};
constexpr const char* kFileModules[] = {"torch.distributed.checkpoint.filesystem.",
                                        "torch.distributed._shard.checkpoint.filesystem."};

class DcpReader {
 public:
  DcpReader(const Pickle& pickle, const std::string& name) : root_(pickle.root()), name_(name) {}

  Result<DcpMetadata> read() {
    if (!is(root_, "Metadata")) return refused(root_);
    HONE_TRY(read_places());
    const PickleValue paths = root_.state().find("planner_data"),
                      entries = root_.state().find("state_dict_metadata");
    if (!entries.is(Kind::dict)) return damaged("has no state_dict_metadata");
    std::map<std::string_view, PickleValue> path_of;
    for (int64_t i = 0; i < paths.pairs(); ++i)
      path_of.emplace(paths.key(i).text(), paths.value(i));
    DcpMetadata found;
    for (int64_t i = 0; i < entries.pairs(); ++i) {
      DcpEntry entry{std::string(entries.key(i).text()), {}};
      if (entry.key.empty()) return damaged("has an entry without a name");
      if (!keys_.insert(entry.key).second) return damaged("has an entry twice", entry.key);
      if (const auto path = path_of.find(entry.key); path != path_of.end())
        entry.path = texts_of(path->second);
      if (entry.path.empty()) entry.path = {entry.key};
      HONE_TRY(read_entry(std::move(entry), entries.value(i), found));
    }
    return found;
  }

 private:
  Error damaged(const std::string& what, const std::string& entry = "") const {
    Error e(err::kImportDamaged, fmt::format("'{}' {}", name_, what));
    if (!entry.empty()) e.at(entry);
    return std::move(e.todo("the file is damaged: copy it again, or save the checkpoint again"));
  }
  Error refused(const PickleValue& v) const {
    return refused_class(name_, torch_class(v),
                         "name a checkpoint that torch.distributed.checkpoint.save wrote");
  }
  static bool is(const PickleValue& v, const char* what) {
    for (const char* module : kMetadataModules)
      if (v.callable().is_global(std::string(module) + what)) return true;
    return false;
  }
  // Keys of nested dicts; those of lists are numbers.
  static std::vector<std::string> texts_of(const PickleValue& path) {
    std::vector<std::string> texts;
    for (int64_t i = 0; i < path.size(); ++i)
      texts.push_back(path[i].is(Kind::integer) ? std::to_string(path[i].integer())
                                                : std::string(path[i].text()));
    return texts;
  }
  static std::string key_of(std::string_view entry, const std::optional<Shape>& offset) {
    return fmt::format("{}\n{}", entry, offset ? text_of(*offset) : "");
  }

  Status read_places() {
    const PickleValue data = root_.state().find("storage_data");
    if (!data.is(Kind::dict)) return damaged("has no storage_data");
    for (int64_t i = 0; i < data.pairs(); ++i) {
      const PickleValue index = data.key(i), info = data.value(i);
      if (!is(index, "MetadataIndex")) return refused(index);
      bool known = false;
      for (const char* module : kFileModules)
        known |= info.callable().is_global(std::string(module) + "_StorageInfo");
      if (!known) return refused(info);
      const std::string entry(index.state().find("fqn").text());
      DcpPlace place{std::string(info.state().find("relative_path").text()),
                     info.state().find("offset").integer(), info.state().find("length").integer()};
      if (info.state().find("transform_descriptors").size() > 0)
        return Error(err::kImportNotSupported,
                     fmt::format("'{}': '{}' is compressed", name_, entry))
            .todo("save the checkpoint without extensions of FileSystemWriter");
      if (place.file.empty() || place.file.front() == '.' ||
          place.file.find('/') != std::string::npos || place.file.find('\0') != std::string::npos)
        return damaged(fmt::format("names the file '{}', which is not in its folder", place.file),
                       entry);
      int64_t end = 0;
      if (place.offset < 0 || place.bytes < 0 ||
          __builtin_add_overflow(place.offset, place.bytes, &end))
        return damaged(fmt::format("has {} bytes at {}", place.bytes, place.offset), entry);
      const PickleValue offset = index.state().find("offset");
      places_[key_of(entry, offset.is(Kind::none) ? std::nullopt : torch_size(offset))] =
          std::move(place);
    }
    return Ok{};
  }

  Status read_entry(DcpEntry entry, const PickleValue& v, DcpMetadata& found) {
    if (is(v, "BytesStorageMetadata")) {
      const auto place = places_.find(key_of(entry.key, {}));
      if (place == places_.end()) return damaged("does not say where an entry is", entry.key);
      found.values.push_back({std::move(entry), place->second});
      return Ok{};
    }
    if (!is(v, "TensorStorageMetadata")) return refused(v);
    DcpTensor t{std::move(entry), {}, {}};
    const PickleValue type = v.state().find("properties").state()[0];
    const auto dtype = torch_dtype(type);
    if (!dtype)
      return Error(err::kImportNotSupported,
                   fmt::format("'{}': '{}' has elements of {}", name_, t.key, type.global()))
          .todo("save the checkpoint with elements of float32, bfloat16 or float16");
    const auto size = torch_shape(v.state().find("size"));
    if (!size) return damaged("has a tensor of an impossible shape", t.key);
    t.type = {*dtype, *size};
    const PickleValue chunks = v.state().find("chunks");
    for (int64_t i = 0; i < chunks.size(); ++i) {
      if (!is(chunks[i], "ChunkStorageMetadata")) return refused(chunks[i]);
      const auto offset = torch_size(chunks[i].state().find("offsets")),
                 sizes = torch_size(chunks[i].state().find("sizes"));
      bool within =
          offset && sizes && offset->size() == size->size() && sizes->size() == size->size();
      for (size_t d = 0; within && d < size->size(); ++d)
        within = (*offset)[d] <= (*size)[d] && (*sizes)[d] <= (*size)[d] - (*offset)[d];
      if (!within) return damaged("has a chunk that is not within its tensor", t.key);
      const auto place = places_.find(key_of(t.key, offset));
      if (place == places_.end()) return damaged("does not say where a chunk is", t.key);
      t.chunks.push_back({*offset, *sizes, place->second});
    }
    found.tensors.push_back(std::move(t));
    return Ok{};
  }

  PickleValue root_;
  const std::string& name_;
  std::map<std::string, DcpPlace> places_;
  std::set<std::string> keys_;
};

}  // namespace

Result<DcpMetadata> read_dcp_metadata(std::string_view bytes, const std::string& name) {
  const Pickle pickle = HONE_TRY(Pickle::read(bytes, name));
  return DcpReader(pickle, name).read();
}

}  // namespace hone
