// Training checkpoints: folders <output_dir>/checkpoint-<step>. Transformers can load a checkpoint as a model, and hone
// can continue training from it. docs/formats/checkpoint.md lists the files and explains why a crash cannot damage a
// checkpoint.
//
//   CheckpointWriter w = HONE_TRY(CheckpointWriter::begin(output_dir, step));
//   HONE_TRY(task.save_model_files(w.folder()));                  // config.json, tokenizer files
//   HONE_TRY(w.add_tensors("model", weights));
//   HONE_TRY(w.add_tensors("optimizer", moments));
//   HONE_TRY(w.add_json("hone_state.json", state));
//   std::string path = HONE_TRY(w.commit());
//   RotateOptions keep{.save_total_limit = 2, .best = best, .trusted = path};
//   HONE_TRY(rotate_checkpoints(output_dir, keep));
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/core/json.h"
#include "learn/checkpoint/checkpoint_files.h"
#include "learn/checkpoint/imports/import_format.h"
#include "learn/checkpoint/parts.h"
#include "learn/checkpoint/safetensors/safetensors_writer.h"
#include "learn/checkpoint/safetensors/weight_source.h"

namespace hone {

// Used only in a bucket (cloud storage), where a folder cannot be renamed: this file exists while a checkpoint is
// written or deleted. A folder with this file and without a manifest is not a checkpoint.
inline constexpr const char* kUnfinishedFile = "hone_unfinished.json";
inline constexpr const char* kStateFile = "hone_state.json";  // the state from which hone continues
// The progress of the run, in the form in which Transformers' Trainer writes it.
inline constexpr const char* kTrainerStateFile = "trainer_state.json";
inline constexpr const char* kOptimizerStem = "optimizer";  // optimizer.safetensors

class CheckpointWriter {
 public:
  // Creates the empty folder <output_dir>/checkpoint-<step>.tmp-<pid>. In a bucket, files are written into
  // <output_dir>/checkpoint-<step> itself; the folder becomes a checkpoint when its manifest is written.
  static Result<CheckpointWriter> begin(const std::string& output_dir, int64_t step,
                                        Store& store = file_store());
  CheckpointWriter(CheckpointWriter&&) = default;
  // Removes the folder if commit() was not called. In a bucket the folder stays, marked as unfinished, until
  // clean_leftovers() removes it.
  ~CheckpointWriter();

  // The folder to write into. The caller may also put files into it or into folders below it by other means; commit()
  // adds them to the manifest.
  const std::string& folder() const { return *folder_; }
  // Adds a file; `name` is a plain name without '/'.
  Status add_file(const std::string& name, std::string_view bytes);
  Status add_json(const std::string& name, const Json& value);
  Status add_json(const std::string& name, const OrderedJson& value);
  // Adds <stem>.safetensors, or several shards with their index (save_safetensors()).
  Status add_tensors(const std::string& stem, std::span<const TensorData> tensors,
                     int64_t max_shard_size = kDefaultShardSize);
  // Adds the files that the ranks have written into the folder by write_part(), and their index if there are several.
  Status add_parts(const std::string& stem, const std::vector<PartFile>& parts);
  // Copies all files of another checkpoint, which hone wrote, into this one. `checkpoint`: the path of the other
  // checkpoint in the store `from`. H2212: a file's checksum differs from the manifest.
  Status add_copies(const std::string& checkpoint, Store& from);

  // Writes the manifest, then renames the folder to checkpoint-<step> (not in a bucket). This replaces a checkpoint of
  // the same step. The checkpoint is durable on return. Returns its path. H0118: another run has already written the
  // same checkpoint into the same bucket.
  Result<std::string> commit();

 private:
  CheckpointWriter(std::string output_dir, int64_t step, Store& store);
  std::string output_dir_;
  int64_t step_;
  Store* store_;
  bool in_place_;                        // true in a bucket: the folder is not renamed
  std::unique_ptr<std::string> folder_;  // null after a move or commit()
  std::vector<WrittenFile> files_;
};

struct CheckpointInfo {
  std::string path;
  int64_t step = 0;
  // true: hone wrote the checkpoint. It has a manifest, and its files have the sizes in the manifest.
  bool by_hone = false;
  // true: training can continue from it, because it has hone_state.json or is a training checkpoint of another program.
  // false: it has only weights.
  bool resumable = false;
};

// The complete checkpoints in the folders checkpoint-<step>, the largest step first: those of hone (the files in the
// manifest exist with their sizes), of Transformers (config.json and readable safetensors headers) and of the programs
// in imports/. Incomplete and damaged ones are skipped. If output_dir does not exist, there are none. Errors: those of
// the store if it cannot read a checkpoint (a server that cannot be reached, a file without read permission).
Result<std::vector<CheckpointInfo>> find_checkpoints(const std::string& output_dir,
                                                     Store& store = file_store());
// Inspects one checkpoint: a folder of any name, or a file of another program. H2212: it is incomplete or damaged.
Result<CheckpointInfo> inspect_checkpoint(const std::string& path, Store& store = file_store());
// Does what inspect_checkpoint() does, then reads every file and compares its checksum with the manifest. H2212: a file
// differs. Checkpoints of other programs have no checksums, so their files are not read.
Status verify_checkpoint(const std::string& path, Store& store = file_store());

// Copies the checkpoint of hone at `path` (.../checkpoint-<step>) in the store `from` into the local folder `folder`.
// The copy appears complete or not at all. Returns its path. Errors: those of add_copies() and commit().
Result<std::string> copy_checkpoint(const std::string& path, Store& from,
                                    const std::string& folder);

// The contents of a checkpoint.
struct ResumeState {
  Json state;                               // hone_state.json; null: it has none
  Json trainer_state;                       // trainer_state.json; null: it has none
  std::unique_ptr<WeightSource> weights;    // model.safetensors, or adapter_model.safetensors
  std::unique_ptr<WeightSource> optimizer;  // optimizer.safetensors; null: it has none
  // The members below are set only for a checkpoint of another program. The tensors of such a checkpoint have the names
  // that the other program gave them; `state` is made from the checkpoint's step, skipped steps and loss scale;
  // trainer_state is {} if the checkpoint has none.
  std::string format;  // for the log: "DeepSpeed ZeRO-2 of 2 ranks"; "": a checkpoint of hone
  Json arguments;      // ImportedRun::arguments
  std::vector<std::vector<NumberedState>> numbered = {};  // ImportedRun::numbered
  std::set<std::string> padded = {};                      // ImportedRun::padded
};
// Opens a checkpoint. Calls verify_checkpoint() first, unless `is_whole`. Errors: those of verify_checkpoint(),
// open_import() and of reading the files.
Result<ResumeState> open_checkpoint(const std::string& path, Store& store = file_store(),
                                    bool is_whole = false);

struct RotateOptions {
  // The number of checkpoints to keep, as in Transformers; 0 or less: all. The best and the newest are always kept.
  int64_t save_total_limit = 0;
  std::string best = {};  // path of the best checkpoint; "": none
  // Path of a checkpoint that this process has just committed; not verified.
  std::string trusted = {};
};
// Deletes the oldest checkpoints of hone until save_total_limit are left. Never deletes the best, the trusted one, or
// the newest one that verify_checkpoint() accepts. Checkpoints newer than the latter stay too, even if they are
// damaged. Checkpoints of other programs are not counted. Returns the deleted paths.
Result<std::vector<std::string>> rotate_checkpoints(const std::string& output_dir,
                                                    const RotateOptions& options,
                                                    Store& store = file_store());

// Cleans up after a killed process: removes temporary and half-deleted folders, and restores a checkpoint that was
// being replaced. Only the process that trains into output_dir may call it. Returns the paths that it removed or
// restored.
Result<std::vector<std::string>> clean_leftovers(const std::string& output_dir,
                                                 Store& store = file_store());

// For buckets: replaces the checkpoint `to` by `from`. The store copies the files, then `from` is deleted. If this is
// interrupted, clean_leftovers() completes it.
Status replace_checkpoint(const std::string& from, const std::string& to, Store& store);

// Deletes one checkpoint folder. A crash meanwhile never leaves a part of the checkpoint under its name.
Status delete_checkpoint(const std::string& path, Store& store = file_store());

// The step in the name "checkpoint-<step>"; -1: another name.
int64_t step_of_checkpoint_name(std::string_view name);
// Whether a killed process has left this folder: its name is checkpoint-<step> with .tmp-, .new-, .old- or .del- and
// a process id.
bool is_checkpoint_leftover(std::string_view name);

}  // namespace hone
