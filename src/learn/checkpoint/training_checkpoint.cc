// Writing and reading one checkpoint; see checkpoint_list.cc for folders of them.
#include "learn/checkpoint/training_checkpoint.h"

#include <unistd.h>

#include <set>

#include "learn/checkpoint/errors.h"
#include "learn/checkpoint/imports/imports.h"
#include "learn/checkpoint/ranges.h"
#include "learn/checkpoint/safetensors/byte_file.h"
#include "learn/checkpoint/safetensors/safetensors.h"
#include "learn/checkpoint/safetensors/strict_json.h"

namespace hone {
namespace {

constexpr int64_t kChunk = int64_t{4} << 20;

std::string manifest_text(int64_t step, const std::vector<WrittenFile>& files) {
  Json list = Json::object();
  for (const WrittenFile& f : files)
    list[f.name] = {{"bytes", f.bytes}, {"xxh64", hex_of(f.xxh64)}};
  return json_text({{"format", "hone checkpoint"},
                    {"version", kManifestVersion},
                    {"step", step},
                    {"files", list}}) +
         "\n";
}

Result<uint64_t> hash_file(const std::string& path, Store& store) {
  const auto reader = HONE_TRY(store.open(path));
  std::vector<std::byte> chunk(static_cast<size_t>(std::min(kChunk, reader->bytes())));
  Xxh64 hash;
  for (int64_t at = 0; at < reader->bytes(); at += kChunk) {
    const auto piece =
        std::span(chunk).first(static_cast<size_t>(std::min(kChunk, reader->bytes() - at)));
    HONE_TRY(reader->read(at, piece));
    hash.update(piece);
  }
  return hash.digest();
}

Result<std::unique_ptr<WeightSource>> open_stem(const std::string& path, const std::string& stem,
                                                Store& store) {
  const std::string single = path + "/" + stem + ".safetensors";
  std::vector<std::unique_ptr<WeightSource>> sources;
  sources.push_back(HONE_TRY(HONE_TRY(store.exists(single))
                                 ? open_safetensors(single, store)
                                 : open_safetensors_index(single + ".index.json", store)));
  return join_ranges(std::move(sources));
}

Result<Json> read_json_if_there(const std::string& path, Store& store) {
  if (!HONE_TRY(store.exists(path))) return Json();
  return parse_json(HONE_TRY(store.read(path)), path);
}

int64_t whole_number(const Json& state, const char* key) {
  if (!state.is_object() || !state.contains(key) || !state[key].is_number()) return 0;
  return std::max<int64_t>(0, static_cast<int64_t>(state[key].get<double>()));
}

// The best evaluation that trainer_state.json names; its checkpoint is not one of hone's. Null: there is none.
Json best_of(const Json& trainer_state) {
  if (!trainer_state.contains("best_metric") || !trainer_state["best_metric"].is_number())
    return nullptr;
  return {{"metric", trainer_state["best_metric"]}, {"step", 0}, {"checkpoint_step", 0}};
}

// The state with which hone continues another program's run.
ResumeState state_of_import(ImportedRun run) {
  ResumeState r;
  r.state = {{"step", run.steps},
             {"skipped_steps", std::max<int64_t>(run.steps - run.updates, 0)},
             {"loss", {{"sum", 0.0}, {"total", 0.0}, {"steps", 0}, {"total_steps", 0}}},
             {"total_flos", whole_number(run.trainer_state, "total_flos")},
             {"tokens_seen", whole_number(run.trainer_state, "num_input_tokens_seen")},
             {"last_evaluated", -1},
             {"run", Json::object()}};
  if (run.loss_scale && *run.loss_scale > 1)
    r.state["loss_scale"] = {
        {"value", *run.loss_scale}, {"finite_steps", 0}, {"overflows_left", 1}};
  r.trainer_state = run.trainer_state.is_object() ? std::move(run.trainer_state) : Json::object();
  r.weights = std::move(run.weights);
  r.optimizer = std::move(run.optimizer);
  r.format = std::move(run.format);
  r.numbered = std::move(run.numbered);
  r.padded = std::move(run.padded);
  if (!run.plateau.is_null()) r.state["plateau"] = std::move(run.plateau);
  if (const Json best = best_of(r.trainer_state); !best.is_null()) r.state["best"] = best;
  r.arguments = std::move(run.arguments);
  return r;
}

}  // namespace

CheckpointWriter::CheckpointWriter(std::string output_dir, int64_t step, Store& store)
    : output_dir_(std::move(output_dir)),
      step_(step),
      store_(&store),
      in_place_(!store.renames_folders_at_once(output_dir_)),
      folder_(std::make_unique<std::string>(
          fmt::format("{}/checkpoint-{}.tmp-{}", output_dir_, step, ::getpid()))) {}

Result<CheckpointWriter> CheckpointWriter::begin(const std::string& output_dir, int64_t step,
                                                 Store& store) {
  CheckpointWriter w(output_dir, step, store);
  if (w.in_place_) {
    // A whole checkpoint of the same step stays until its successor is whole.
    const std::string target = fmt::format("{}/checkpoint-{}", output_dir, step);
    *w.folder_ = target;
    if (HONE_TRY(store.exists(target + "/" + kManifestFile)))
      *w.folder_ = fmt::format("{}.new-{}", target, ::getpid());
    HONE_TRY(delete_checkpoint(w.folder(), store));
    HONE_TRY(store.write(w.folder() + "/" + kUnfinishedFile, "{}\n"));
    return w;
  }
  HONE_TRY(store.remove_all(
      w.folder()));  // of a failed attempt, or a killed process that had our number
  HONE_TRY(store.make_dirs(w.folder()));
  return w;
}

CheckpointWriter::~CheckpointWriter() {
  // In a bucket the mark stays, and with it all that clean_leftovers() takes away: another run's
  // checkpoint may be there now.
  if (folder_ != nullptr && !in_place_) (void)store_->remove_all(*folder_);
}

Status CheckpointWriter::add_file(const std::string& name, std::string_view bytes) {
  HONE_BUG_IF(name.empty() || name.find('/') != std::string::npos || name == kManifestFile,
              "checkpoint file '{}'", name);
  HashedFile file = HONE_TRY(HashedFile::create(folder() + "/" + name, *store_));
  HONE_TRY(file.write(bytes));
  HONE_TRY(file.commit());
  files_.push_back({name, file.size(), file.digest()});
  return Ok{};
}

Status CheckpointWriter::add_copies(const std::string& checkpoint, Store& from) {
  for (const ManifestEntry& e : HONE_TRY(read_manifest(checkpoint, from))) {
    const auto reader = HONE_TRY(from.open(checkpoint + "/" + e.name));
    if (const size_t below = e.name.rfind('/'); below != std::string::npos)
      HONE_TRY(store_->make_dirs(folder() + "/" + e.name.substr(0, below)));
    HashedFile file = HONE_TRY(HashedFile::create(folder() + "/" + e.name, *store_));
    std::vector<std::byte> chunk(static_cast<size_t>(std::min(kChunk, reader->bytes())));
    for (int64_t at = 0; at < reader->bytes(); at += kChunk) {
      const auto piece =
          std::span(chunk).first(static_cast<size_t>(std::min(kChunk, reader->bytes() - at)));
      HONE_TRY(reader->read(at, piece));
      HONE_TRY(file.write(piece));
    }
    if (const std::string found = hex_of(file.digest()); found != e.xxh64)
      return damaged_checkpoint(checkpoint, fmt::format("file '{}' has checksum {} instead of {}",
                                                        e.name, found, e.xxh64));
    HONE_TRY(file.commit());
    files_.push_back({e.name, file.size(), file.digest()});
  }
  return Ok{};
}

Status CheckpointWriter::add_json(const std::string& name, const Json& value) {
  return add_file(name, json_text(value) + "\n");
}
Status CheckpointWriter::add_json(const std::string& name, const OrderedJson& value) {
  return add_file(name, dump_json(value, {.indent = 2, .ascii = false}) + "\n");
}

Status CheckpointWriter::add_tensors(const std::string& stem, std::span<const TensorData> tensors,
                                     int64_t max_shard_size) {
  for (WrittenFile& f : HONE_TRY(write_shards(folder(), stem, tensors, max_shard_size, *store_)))
    files_.push_back(std::move(f));
  return Ok{};
}

Status CheckpointWriter::add_parts(const std::string& stem, const std::vector<PartFile>& parts) {
  for (const PartFile& part : parts) files_.push_back(part.file);
  if (parts.size() == 1) return Ok{};
  return add_file(stem + ".safetensors.index.json", index_of_parts(parts));
}

Result<std::string> CheckpointWriter::commit() {
  HONE_BUG_IF(folder_ == nullptr, "checkpoint {} committed twice", step_);
  std::set<std::string> known;
  for (const WrittenFile& f : files_) known.insert(f.name);
  for (const Store::Entry& e : HONE_TRY(checkpoint_files(folder(), *store_))) {
    if (known.contains(e.name) || e.name == kUnfinishedFile) continue;
    const std::string path = folder() + "/" + e.name;
    if (!in_place_)
      HONE_TRY(HONE_TRY(store_->append(path))->commit());      // by others: make it durable
    const uint64_t hash = HONE_TRY(hash_file(path, *store_));  // alone: g++ would leak a name
    files_.push_back({e.name, e.bytes, hash});
  }
  const std::string manifest = folder() + "/" + kManifestFile;
  if (in_place_) {
    const std::unique_ptr<Writer> w = HONE_TRY(store_->create_new(manifest));
    HONE_TRY(w->write(manifest_text(step_, files_)));
    HONE_TRY(w->commit());
    HONE_TRY(store_->remove(folder() + "/" + kUnfinishedFile));
    const std::string path = *folder_, name = fmt::format("{}/checkpoint-{}", output_dir_, step_);
    folder_.reset();
    if (path != name) HONE_TRY(replace_checkpoint(path, name, *store_));
    return name;
  }
  HONE_TRY(store_->write(manifest, manifest_text(step_, files_)));

  const std::string target = fmt::format("{}/checkpoint-{}", output_dir_, step_);
  const std::string old = fmt::format("{}.old-{}", target, ::getpid());
  const bool replaces = HONE_TRY(store_->exists(target));
  if (replaces) {
    HONE_TRY(store_->remove_all(old));
    HONE_TRY(store_->rename(target, old));
  }
  HONE_TRY(store_->rename(folder(), target));
  folder_.reset();
  if (replaces) HONE_TRY(store_->remove_all(old));
  return target;
}

Result<std::string> copy_checkpoint(const std::string& path, Store& from,
                                    const std::string& folder) {
  const int64_t step = step_of_checkpoint_name(std::string_view(path).substr(path.rfind('/') + 1));
  CheckpointWriter w = HONE_TRY(CheckpointWriter::begin(folder, step));
  HONE_TRY(w.add_copies(path, from));
  return w.commit();
}

Result<CheckpointInfo> inspect_checkpoint(const std::string& path, Store& store) {
  CheckpointInfo info{path,
                      step_of_checkpoint_name(std::string_view(path).substr(path.rfind('/') + 1))};
  info.resumable = HONE_TRY(store.exists(path + "/" + kStateFile));
  if (!HONE_TRY(store.exists(path + "/" + kManifestFile))) {
    if (info.resumable || HONE_TRY(store.exists(path + "/" + kUnfinishedFile)))
      return damaged_checkpoint(path, fmt::format("its {} is missing", kManifestFile));
    info.resumable = HONE_TRY(is_import(path, store));
    if (info.resumable) return info;
    if (!HONE_TRY(store.exists(path + "/config.json")))
      return damaged_checkpoint(path, "it has no config.json");
    HONE_TRY(open_stem(path, "model", store));
    return info;
  }
  info.by_hone = true;
  for (const ManifestEntry& e : HONE_TRY(read_manifest(path, store))) {
    const auto file = HONE_TRY(store.info(path + "/" + e.name));
    if (!file.exists) return damaged_checkpoint(path, fmt::format("file '{}' is missing", e.name));
    if (file.bytes != e.bytes)
      return damaged_checkpoint(
          path, fmt::format("file '{}' has {} bytes instead of {}", e.name, file.bytes, e.bytes));
  }
  return info;
}

Status verify_checkpoint(const std::string& path, Store& store) {
  if (!HONE_TRY(inspect_checkpoint(path, store)).by_hone) return Ok{};
  for (const ManifestEntry& e : HONE_TRY(read_manifest(path, store))) {
    const std::string found = hex_of(HONE_TRY(hash_file(path + "/" + e.name, store)));
    if (found != e.xxh64)
      return damaged_checkpoint(
          path, fmt::format("file '{}' has checksum {} instead of {}", e.name, found, e.xxh64));
  }
  return Ok{};
}

Result<ResumeState> open_checkpoint(const std::string& path, Store& store, bool is_whole) {
  if (!is_whole) HONE_TRY(verify_checkpoint(path, store));
  if (!HONE_TRY(store.exists(path + "/" + kManifestFile)) && HONE_TRY(is_import(path, store)))
    return state_of_import(HONE_TRY(open_import(path, store)));
  ResumeState r;
  r.state = HONE_TRY(read_json_if_there(path + "/" + kStateFile, store));
  r.trainer_state = HONE_TRY(read_json_if_there(path + "/" + kTrainerStateFile, store));
  const bool adapter = HONE_TRY(store.exists(path + "/adapter_model.safetensors"));
  r.weights = HONE_TRY(open_stem(path, adapter ? "adapter_model" : "model", store));
  const std::string optimizer = path + "/" + kOptimizerStem + ".safetensors";
  if (HONE_TRY(store.exists(optimizer)) || HONE_TRY(store.exists(optimizer + ".index.json")))
    r.optimizer = HONE_TRY(open_stem(path, kOptimizerStem, store));
  return r;
}

}  // namespace hone
