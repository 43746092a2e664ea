#include "learn/checkpoint/imports/dcp_folder.h"

#include <algorithm>

#include "learn/checkpoint/imports/dcp_metadata.h"
#include "learn/checkpoint/imports/errors.h"
#include "learn/checkpoint/imports/folder_names.h"
#include "learn/checkpoint/imports/lazy_tensors.h"
#include "learn/checkpoint/imports/optimizer_dict.h"
#include "learn/checkpoint/imports/piece_weights.h"

namespace hone {
namespace {

constexpr const char* kMetadata = ".metadata";

// The weight and the state that an entry of an optimizer is of.
struct StateName {
  std::string weight, state;
};

// {..., "state", weight, state}, or the same as one key "state.<weight>.<state>".
std::optional<StateName> state_of(const DcpEntry& entry) {
  const std::vector<std::string>& path = entry.path;
  for (size_t i = 0; i + 2 < path.size(); ++i)
    if (path[i] == "state") return StateName{path[i + 1], path[i + 2]};
  const std::string& key = path.back();
  const size_t dot = key.rfind('.');
  if (!key.starts_with("state.") || dot <= 6) return {};
  return StateName{key.substr(6, dot - 6), key.substr(dot + 1)};
}

class DcpFolder {
 public:
  DcpFolder(const std::string& path, Store& store) : path_(path), store_(store), updates_(path) {}

  Result<ImportedRun> open() {
    const std::string file = path_ + "/" + kMetadata, bytes = HONE_TRY(store_.read(file));
    const DcpMetadata metadata = HONE_TRY(read_dcp_metadata(bytes, file));
    chunks_ = std::make_shared<LazyTensors>();
    weights_->hold(chunks_);
    states_->hold(chunks_);
    for (const DcpTensor& t : metadata.tensors) HONE_TRY(add_tensor(t));
    for (const DcpValue& v : metadata.values) HONE_TRY(add_value(v));
    run_.format = "torch.distributed.checkpoint";
    run_.updates = updates_.value();
    run_.steps = std::max(steps_.value_or(run_.updates), run_.updates);
    if (!states_->tensors().empty()) run_.optimizer = std::move(states_);
    run_.weights = std::move(weights_);
    return std::move(run_);
  }

 private:
  Error damaged(const std::string& entry, const std::string& what) const {
    return Error(err::kImportDamaged, fmt::format("'{}': '{}' {}", path_, entry, what))
        .todo("copy the whole folder again: .metadata and all files *.distcp");
  }

  Result<std::unique_ptr<ByteFile>> open_place(const DcpPlace& place) const {
    return open_part(path_, place, store_);
  }
  static Result<std::unique_ptr<ByteFile>> open_part(const std::string& path, const DcpPlace& place,
                                                     Store& store) {
    const std::string name = path + "/" + place.file;
    if (!HONE_TRY(store.exists(name)))
      return Error(err::kImportDamaged, fmt::format("'{}' is missing", name))
          .todo("copy the whole folder again: .metadata and all files *.distcp");
    std::unique_ptr<ByteFile> file = HONE_TRY(open_byte_file(name, store));
    if (place.offset > file->size() || place.bytes > file->size() - place.offset)
      return Error(err::kImportDamaged, fmt::format("'{}' has {} bytes; {} bytes at {} are needed",
                                                    name, file->size(), place.bytes, place.offset))
          .todo("the file is cut short: copy it again");
    return part_of_file(std::move(file), place.offset, place.bytes);
  }

  Status add_tensor(const DcpTensor& t) {
    const auto state = state_of(t);
    if (t.path.back().find("flat_param") != std::string::npos)
      return Error(
                 err::kImportNotSupported,
                 fmt::format("'{}': '{}' is a flat parameter of FSDP without names", path_, t.key))
          .todo(
              "save with StateDictType.SHARDED_STATE_DICT or FULL_STATE_DICT, or use_orig_params");
    PieceWeights& to = state ? *states_ : *weights_;
    TensorInfo info;
    info.name = state ? state->state + "." + state->weight : t.path.back();
    info.type = t.type;
    info.file = path_ + "/" + (t.chunks.empty() ? kMetadata : t.chunks[0].place.file);
    info.bytes = t.type.bytes();
    if (to.find(info.name) != nullptr) return damaged(t.key, "is there twice");
    std::vector<TensorPiece> pieces;
    for (const DcpChunk& chunk : t.chunks) {
      TensorInfo part;
      part.name = fmt::format("{} {}", t.key, chunks_->tensors().size());
      part.type = {t.type.dtype, chunk.sizes};
      part.file = path_ + "/" + chunk.place.file;
      part.bytes = part.type.bytes();
      pieces.push_back({chunks_.get(), part.name, 0, t.type.shape, chunk.offset, chunk.sizes});
      chunks_->add_lazy(std::move(part),
                        [path = path_, place = chunk.place,
                         &store = store_]() -> Result<std::unique_ptr<WeightSource>> {
                          return open_one_tensor(HONE_TRY(open_part(path, place, store)));
                        });
    }
    if (const std::string fault = fault_of_pieces(t.type.shape, pieces); !fault.empty())
      return damaged(t.key, fault);
    if (!state || state->state != "step") {
      to.add_pieces(std::move(info), std::move(pieces));
      return Ok{};
    }
    if (pieces.size() != 1) return damaged(t.key, "is in several parts");
    return updates_.add(*chunks_, pieces[0].name, state->weight);
  }

  Status add_value(const DcpValue& v) {
    static constexpr const char* kArguments[] = {"lr",           "initial_lr", "betas",   "eps",
                                                 "weight_decay", "amsgrad",    "maximize"};
    const std::string& last = v.path.back();
    const size_t dot = last.rfind('.');
    const std::string name = dot == last.npos ? last : last.substr(dot + 1);
    const bool argument =
        v.key.find("param_groups.") != v.key.npos &&
        std::find(std::begin(kArguments), std::end(kArguments), name) != std::end(kArguments);
    const auto state = state_of(v);
    const bool counts = state && state->state == "step";
    const bool steps = v.path.size() == 1 && (last == "step" || last == "global_step");
    const bool schedule = last == "last_epoch" && v.path.size() >= 2;
    if (!argument && !counts && !steps && !schedule) return Ok{};
    const auto object = HONE_TRY(TorchObject::open(HONE_TRY(open_place(v.place))));
    if (argument) add_argument(run_.arguments, name, object->root());
    const auto number = number_of(object->root());
    if (counts && number) return updates_.add(*number, state->weight);
    if (!(steps || schedule) || !number || *number < 0 || *number > 1e15) return Ok{};
    if (steps || !steps_) steps_ = static_cast<int64_t>(*number);
    return Ok{};
  }

  const std::string path_;
  Store& store_;
  UpdateCount updates_;
  std::optional<int64_t> steps_;
  ImportedRun run_;
  std::shared_ptr<LazyTensors> chunks_;
  std::unique_ptr<PieceWeights> weights_ = std::make_unique<PieceWeights>(),
                                states_ = std::make_unique<PieceWeights>();
};

}  // namespace

Result<bool> is_dcp_folder(const std::string& path, Store& store) {
  const Store::Info info = HONE_TRY(store.info(path + "/" + kMetadata));
  return info.exists && !info.folder;
}

Result<ImportedRun> open_dcp_folder(const std::string& path, Store& store) {
  return DcpFolder(path, store).open();
}

}  // namespace hone
