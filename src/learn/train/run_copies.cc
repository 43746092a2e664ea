#include "learn/train/run_copies.h"

#include "base/core/text.h"
#include "learn/checkpoint/training_checkpoint.h"

namespace hone {
namespace {

constexpr const char* kRunNumber = "run_id";  // in kStateFile

}  // namespace

std::string memory_folder() { return environment("HONE_RUN_MEMORY"); }

void note_run(Json& state) {
  if (const std::string id = environment("HONE_RUN_ID"); !id.empty()) state[kRunNumber] = id;
}

bool is_of_this_run(const std::string& checkpoint) {
  const std::string id = environment("HONE_RUN_ID");
  const Result<Json> state = read_json_file(checkpoint + "/" + kStateFile);
  return !id.empty() && state.ok() && text_at(*state, kRunNumber) == id;
}

Result<std::string> newest_of_this_run(const std::string& output_dir) {
  std::string newest;
  int64_t step = -1;
  for (const std::string& folder : {output_dir, memory_folder()}) {
    if (folder.empty()) continue;
    for (const CheckpointInfo& c : HONE_TRY(find_checkpoints(folder))) {
      if (!c.resumable || !c.by_hone || c.step <= step || !is_of_this_run(c.path)) continue;
      newest = c.path;
      step = c.step;
    }
  }
  return newest;
}

}  // namespace hone
