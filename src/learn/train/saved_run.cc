#include "learn/train/saved_run.h"

#include <algorithm>
#include <limits>
#include <map>

#include "base/core/hash.h"
#include "learn/checkpoint/ranges.h"
#include "learn/checkpoint/safetensors/safetensors.h"
#include "learn/checkpoint/safetensors/stacked_weights.h"
#include "learn/checkpoint/state_tensor.h"

namespace hone {
namespace {

std::vector<TensorData> tensors_of(Session& s, const std::vector<std::string>& names) {
  std::vector<TensorData> tensors;
  for (const std::string& name : names) tensors.push_back(state_tensor(s, name, name));
  return tensors;
}

// The tensors of a saved model: weights under its names, some of them twice, and others.
Result<std::vector<TensorData>> tensors_to_save(const TrainTask& task,
                                                std::vector<TensorData> tensors) {
  for (size_t i = 0, n = tensors.size(); i < n; ++i) {
    TensorData again = tensors[i];
    again.name = task.second_name(tensors[i].name);
    tensors[i].name = task.saved_name(tensors[i].name);
    if (!again.name.empty()) tensors.push_back(std::move(again));
  }
  for (TensorData& other : HONE_TRY(task.other_tensors())) tensors.push_back(std::move(other));
  return split_stacked(std::move(tensors));
}

// Everything besides tensors.
Status add_files_of_run(CheckpointWriter& w, TrainTask& task, const SavedRun& saved) {
  HONE_TRY(task.save_model_files(w.folder()));
  HONE_TRY(w.add_file(kTrainerStateFile, saved.trainer_state));
  if (!saved.state.is_null()) HONE_TRY(w.add_json(kStateFile, saved.state));
  return Ok{};
}

// Whether this rank writes what it has of a tensor that ranks divide: not the second one with the same elements.
bool writes(const RunRanks& ranks, const Session& session, const std::string& name) {
  if (ranks.replica().rank > 0) return false;
  if (session.parts_of(name) == nullptr) return ranks.parts().rank == 0;
  return cut_rows(session, name) || ranks.data().rank == 0;
}
void add_held(const RunRanks& ranks, const Session& session, const std::string& name,
              std::vector<TensorData>& mine) {
  if (!writes(ranks, session, name)) return;
  for (TensorData& t : held_tensors(session, name)) mine.push_back(std::move(t));
}

// The tensors that this rank writes: its elements of those that are cut between the ranks, and its share of
// those that other ranks hold too. Rules for whole tensors give each to one rank.
Result<std::vector<TensorData>> part_of(RunRanks& ranks, TrainTask& task,
                                        const std::vector<TensorData>& tensors) {
  const Session& session = task.session();
  std::vector<TensorData> mine, whole;
  Json names = Json::array();  // as hashes: there may be many
  for (const TensorData& t : tensors) {
    if (is_divided(session, t.name)) {
      add_held(ranks, session, t.name, mine);
      continue;
    }
    whole.push_back(t);
    names.push_back(fnv1a(t.name));
  }
  std::map<uint64_t, int64_t> holders;
  for (const Json& of_rank : HONE_TRY(ranks.gather("whole tensors", names)))
    for (const Json& name : of_rank) ++holders[name.get<uint64_t>()];
  std::vector<TensorData> shared;
  std::vector<int64_t> bytes;
  for (const TensorData& t : whole) {
    if (holders.at(fnv1a(t.name)) < ranks.share().ranks) {
      if (ranks.replica().rank == 0) mine.push_back(t);
      continue;
    }
    shared.push_back(t);
    bytes.push_back(t.type.bytes());
  }
  for (const size_t k : divided_tensors(bytes, ranks.share())) mine.push_back(shared[k]);
  return mine;
}

// The files of all ranks, by rank; a rank without one has one without a name.
Result<std::vector<PartFile>> gather_parts(RunRanks& ranks, const Result<PartFile>& mine) {
  HONE_TRY(ranks.agree("a part of a checkpoint", mine.ok() ? Status(Ok{}) : mine.error()));
  std::vector<PartFile> parts;
  for (const Json& one : HONE_TRY(ranks.gather("the parts of a checkpoint", mine->to_json()))) {
    PartFile part = PartFile::from_json(one);
    if (!part.file.name.empty()) parts.push_back(std::move(part));
  }
  return parts;
}

// Writes the model's weights into the folder, each rank some of the files. Weights that are cut between
// the ranks are written twice: as ranges, which each rank then reads to write whole tensors, so that no
// rank needs memory for them.
Result<std::vector<PartFile>> write_weights(RunRanks& ranks, const std::string& folder,
                                            TrainTask& task, std::vector<TensorData> tensors) {
  const std::string ranges = "ranges";
  std::vector<PartFile> cut;
  std::vector<std::unique_ptr<WeightSource>> sources;
  std::unique_ptr<WeightSource> joined;
  std::vector<TensorData> own;
  bool any = false;  // equal on all ranks
  for (const TensorData& t : tensors)
    if (is_divided(task.session(), t.name)) {
      any = true;
      add_held(ranks, task.session(), t.name, own);
    }
  if (any) {
    Result<PartFile> mine = PartFile();
    if (!own.empty()) mine = write_part(folder, ranges, ranks.share(), own);
    cut = HONE_TRY(gather_parts(ranks, mine));
    for (const PartFile& part : cut)
      sources.push_back(HONE_TRY(open_safetensors(folder + "/" + part.file.name)));
    joined = HONE_TRY(join_ranges(std::move(sources)));
    for (TensorData& t : tensors)
      if (joined->find(t.name) != nullptr) t = tensor_of(*joined, t.name, t.name, t.type.dtype);
  }
  tensors = HONE_TRY(tensors_to_save(task, std::move(tensors)));
  // PEFT loads an adapter from one file.
  const bool divides = task.weights_stem() == "model";
  const Share share = divides ? ranks.share() : Share{};
  std::vector<int64_t> bytes;
  for (const TensorData& t : tensors) bytes.push_back(t.type.bytes());
  std::vector<TensorData> mine;
  for (const size_t i : divided_tensors(bytes, share)) mine.push_back(tensors[i]);
  Result<PartFile> written = PartFile();
  if (divides || ranks.leads()) written = write_part(folder, task.weights_stem(), share, mine);
  std::vector<PartFile> parts = HONE_TRY(gather_parts(ranks, written));
  if (ranks.leads())
    for (const PartFile& part : cut) HONE_TRY(file_store().remove(folder + "/" + part.file.name));
  return parts;
}

// Writes a checkpoint on several ranks; the manifest comes last, by rank 0.
Result<std::string> write_on_ranks(RunRanks& ranks, const std::string& folder, int64_t step,
                                   TrainTask& task, const SavedRun& saved) {
  const HostWork work(ranks.control(), fmt::format("saving checkpoint-{}", step));
  std::optional<CheckpointWriter> writer;
  const Json place = HONE_TRY(ranks.decide("the folder of a checkpoint", [&]() -> Result<Json> {
    writer.emplace(HONE_TRY(CheckpointWriter::begin(folder, step)));
    return Json(writer->folder());
  }));
  const auto here = place.get<std::string>();
  const std::vector<PartFile> weights =
      HONE_TRY(write_weights(ranks, here, task, saved.tensors.weights));
  std::vector<PartFile> moments;
  if (!saved.state.is_null()) {
    const std::vector<TensorData> mine = HONE_TRY(part_of(ranks, task, saved.tensors.moments));
    moments = HONE_TRY(gather_parts(ranks, write_part(here, kOptimizerStem, ranks.share(), mine)));
  }
  const Json path = HONE_TRY(ranks.decide("a checkpoint", [&]() -> Result<Json> {
    HONE_TRY(writer->add_parts(task.weights_stem(), weights));
    if (!saved.state.is_null()) HONE_TRY(writer->add_parts(kOptimizerStem, moments));
    HONE_TRY(add_files_of_run(*writer, task, saved));
    return Json(HONE_TRY(writer->commit()));
  }));
  return path.get<std::string>();
}

}  // namespace

bool SavedTensors::host_reads(const Session& s) const {
  const auto reads = [&](const TensorData& t) { return s.host_reads(t.name); };
  return std::all_of(weights.begin(), weights.end(), reads) &&
         std::all_of(moments.begin(), moments.end(), reads);
}

Status SavedTensors::copy(const Session& s, std::span<std::byte> memory) {
  memory = HONE_TRY(copy_tensors(s, weights, memory));
  HONE_TRY(copy_tensors(s, moments, memory));
  return Ok{};
}

SavedTensors saved_tensors(TrainTask& task, const std::vector<std::string>& moments) {
  Session& s = task.session();
  return {tensors_of(s, task.weight_names()), tensors_of(s, moments)};
}

Result<std::string> write_checkpoint(RunRanks& ranks, const std::string& folder, int64_t step,
                                     TrainTask& task, const SavedRun& saved,
                                     const std::function<void()>& all_read) {
  if (!ranks.alone()) return write_on_ranks(ranks, folder, step, task, saved);
  CheckpointWriter w = HONE_TRY(CheckpointWriter::begin(folder, step));
  HONE_TRY(
      w.add_tensors(task.weights_stem(), HONE_TRY(tensors_to_save(task, saved.tensors.weights))));
  // Also without a single one (SGD): a checkpoint without this file cannot be continued.
  if (!saved.state.is_null()) HONE_TRY(w.add_tensors(kOptimizerStem, saved.tensors.moments));
  all_read();
  HONE_TRY(add_files_of_run(w, task, saved));
  return w.commit();
}

Status write_part_of_run(RunRanks& ranks, const std::string& folder, int64_t step, TrainTask& task,
                         const SavedRun& saved) {
  constexpr int64_t kOneFile = std::numeric_limits<int64_t>::max();
  const std::vector<TensorData> weights = HONE_TRY(part_of(ranks, task, saved.tensors.weights));
  const std::vector<TensorData> moments = HONE_TRY(part_of(ranks, task, saved.tensors.moments));
  CheckpointWriter w = HONE_TRY(CheckpointWriter::begin(folder, step));
  HONE_TRY(w.add_tensors("model", weights, kOneFile));
  HONE_TRY(w.add_tensors(kOptimizerStem, moments, kOneFile));
  if (ranks.leads()) {
    HONE_TRY(w.add_file(kTrainerStateFile, saved.trainer_state));
    HONE_TRY(w.add_json(kStateFile, saved.state));
  }
  HONE_TRY(w.commit());
  return Ok{};
}

Status write_model(RunRanks& ranks, const std::string& folder, TrainTask& task) {
  const std::vector<TensorData> weights = task.finished_tensors(saved_tensors(task, {}).weights);
  const bool cut = std::any_of(weights.begin(), weights.end(), [&](const TensorData& t) {
    return is_divided(task.session(), t.name);
  });
  if (!cut && !ranks.leads()) return Ok{};
  if (!cut)
    return save_safetensors(folder, task.weights_stem(), HONE_TRY(tensors_to_save(task, weights)));
  const std::vector<PartFile> parts = HONE_TRY(write_weights(ranks, folder, task, weights));
  return ranks.leads() ? finish_parts(folder, task.weights_stem(), parts) : Status(Ok{});
}

}  // namespace hone
