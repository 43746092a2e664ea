// Training checkpoints: folders <output_dir>/checkpoint-<step> that Transformers loads as a model
// and hone resumes from. docs/formats/checkpoint.md lists their files, and why no crash can spoil
// one.
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

// Only in a bucket, where a folder cannot be renamed: this file exists while a checkpoint is
// written or deleted. A folder with this file and without a manifest is not a checkpoint.
inline constexpr const char* kUnfinishedFile = "hone_unfinished.json";
inline constexpr const char* kStateFile = "hone_state.json";            // hone's resume state
inline constexpr const char* kTrainerStateFile = "trainer_state.json";  // as Transformers writes it
inline constexpr const char* kOptimizerStem = "optimizer";              // optimizer.safetensors

class CheckpointWriter {
 public:
  // Creates the empty folder <output_dir>/checkpoint-<step>.tmp-<pid>. In a bucket, files go into
  // <output_dir>/checkpoint-<step> itself, which becomes a checkpoint with its manifest.
  static Result<CheckpointWriter> begin(const std::string& output_dir, int64_t step,
                                        Store& store = file_store());
  CheckpointWriter(CheckpointWriter&&) = default;
  ~CheckpointWriter();  // without commit, removes the files written

  // The folder to write into. Files that others put there (not in folders) are made durable and
  // checksummed by commit().
  const std::string& folder() const { return *folder_; }
  Status add_file(const std::string& name, std::string_view bytes);
  Status add_json(const std::string& name, const Json& value);
  Status add_json(const std::string& name, const OrderedJson& value);
  Status add_tensors(const std::string& stem, std::span<const TensorData> tensors,
                     int64_t max_shard_size = kDefaultShardSize);
  // Adds the files that ranks have written into the folder (write_part), and an index of several.
  Status add_parts(const std::string& stem, const std::vector<PartFile>& parts);
  // Adds the files of a checkpoint of hone that `from` has, read in pieces. H2212: their bytes are not those
  // of its manifest.
  Status add_copies(const std::string& checkpoint, Store& from);

  // Writes the manifest and gives the folder its name in one step, replacing a checkpoint of the
  // same step; durable on return. Returns the path of the checkpoint. H0118: another run, which
  // writes into the same bucket, was first.
  Result<std::string> commit();

 private:
  CheckpointWriter(std::string output_dir, int64_t step, Store& store);
  std::string output_dir_;
  int64_t step_;
  Store* store_;
  bool in_place_;                        // the folder has its last name already
  std::unique_ptr<std::string> folder_;  // null: moved from or committed
  std::vector<WrittenFile> files_;
};

struct CheckpointInfo {
  std::string path;
  int64_t step = 0;
  bool by_hone = false;    // has a manifest: its sizes were checked
  bool resumable = false;  // has hone_state.json, or is another program's; else only weights
};

// Complete checkpoints, newest step first: hone's (every file of the manifest there with its size)
// and those Transformers made (config.json and readable safetensors headers). An absent folder has
// none. Damaged ones are left out. Errors: those of the store, when it does not say of a checkpoint
// what is there (a server that is away, a file that may not be read).
Result<std::vector<CheckpointInfo>> find_checkpoints(const std::string& output_dir,
                                                     Store& store = file_store());
// Inspects one folder of any name, or a file of another program; H2212 names the fault.
Result<CheckpointInfo> inspect_checkpoint(const std::string& path, Store& store = file_store());
// Reads every file and compares its checksum. H2212 names the file. For Transformers' checkpoints,
// which have no checksums, the headers alone are checked.
Status verify_checkpoint(const std::string& path, Store& store = file_store());

// Copies a checkpoint of hone, <path>/checkpoint-<step>, into the folder, where it appears complete or not at
// all. Returns its path there. Errors: those of add_copies() and commit().
Result<std::string> copy_checkpoint(const std::string& path, Store& from,
                                    const std::string& folder);

struct ResumeState {
  Json state;                               // hone_state.json, null when there is none
  Json trainer_state;                       // trainer_state.json, null when there is none
  std::unique_ptr<WeightSource> weights;    // model.safetensors, or adapter_model.safetensors
  std::unique_ptr<WeightSource> optimizer;  // null when there is none
  // Only in a checkpoint of another program: tensors have the names that it gave them, and `state` holds
  // step, skipped_steps and loss_scale.
  std::string format;  // for the log, "DeepSpeed ZeRO-2 of 2 ranks"; "": hone's own
  Json arguments;      // of its optimizer, by names of settings (checkpoint/imports)
  std::vector<std::vector<NumberedState>> numbered = {};  // ImportedRun::numbered
  std::set<std::string> padded = {};                      // ImportedRun::padded
};
// Verifies the checkpoint, unless it is known to be whole, then opens it.
Result<ResumeState> open_checkpoint(const std::string& path, Store& store = file_store(),
                                    bool is_whole = false);

struct RotateOptions {
  int64_t save_total_limit =
      0;                     // as Transformers: 0 or less keeps all; the best and the newest stay
  std::string best = {};     // path of the best checkpoint, "" when there is none
  std::string trusted = {};  // just committed by this process: need not be verified again
};
// Deletes the oldest of hone's own checkpoints beyond the limit. Never the best, never the trusted
// one, never the newest that verifies (when newer ones are damaged, they and everything from the
// newest good one on stay). Returns the paths deleted.
Result<std::vector<std::string>> rotate_checkpoints(const std::string& output_dir,
                                                    const RotateOptions& options,
                                                    Store& store = file_store());

// Finishes or undoes what a killed process left: temporary and half-deleted folders go, a
// checkpoint that was being replaced comes back. Only the process that trains into the folder may
// call it. Returns what it removed or restored.
Result<std::vector<std::string>> clean_leftovers(const std::string& output_dir,
                                                 Store& store = file_store());

// In a bucket: `from` takes the place of `to`, copied by the store; finished by clean_leftovers()
// when it is cut off.
Status replace_checkpoint(const std::string& from, const std::string& to, Store& store);

// Deletes one checkpoint folder so that no crash leaves a part of it under its name.
Status delete_checkpoint(const std::string& path, Store& store = file_store());

// Step of "checkpoint-<step>", -1 for any other name.
int64_t step_of_checkpoint_name(std::string_view name);
// Is it checkpoint-<step>.tmp-…, .new-…, .old-… or .del-…, which only a killed process leaves?
bool is_checkpoint_leftover(std::string_view name);

}  // namespace hone
