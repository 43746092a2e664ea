#include "learn/checkpoint/output_dir.h"

#include "learn/checkpoint/errors.h"
#include "learn/checkpoint/safetensors/strict_json.h"

namespace hone {

Result<OutputDir> classify_output_dir(const std::string& path, Store& store) {
  OutputDir out;
  const auto info = HONE_TRY(store.info(path));
  if (!info.exists) return out;
  if (!info.folder)
    return Error(err::kOutputDirUnusable, fmt::format("'{}' is a file, not a folder", path))
        .at("--output_dir " + path)
        .todo("name another folder");

  out.checkpoints = HONE_TRY(find_checkpoints(path, store));
  bool ours = false, finished = false;
  for (const Store::Entry& e : HONE_TRY(store.list(path))) {
    if (e.name == kRunFile) {
      ours = true;
      // A damaged run file still says whose folder it is.
      if (auto mark = parse_strict_json(HONE_TRY(store.read(path + "/" + e.name)),
                                        err::kOutputDirUnusable, e.name);
          mark.ok() && mark->is_object()) {
        finished = mark->contains("state") && (*mark)["state"] == "finished";
        if (mark->contains("run")) out.run = (*mark)["run"];
      }
    } else if (is_checkpoint_leftover(e.name)) {
      ours = true;
    } else if (!e.name.starts_with('.') && e.name != kRunLogFile && e.name != kCheckSamples) {
      out.foreign.push_back(e.name);
    }
  }
  if (finished)
    out.kind = OutputDirKind::finished;
  else if (!out.checkpoints.empty())
    out.kind = OutputDirKind::has_checkpoints;
  else if (ours)
    out.kind = OutputDirKind::hone_unfinished;
  else
    out.kind = out.foreign.empty() ? OutputDirKind::empty : OutputDirKind::foreign_files;
  if (out.kind != OutputDirKind::foreign_files) out.foreign.clear();
  return out;
}

Status mark_run(const std::string& path, bool finished, const Json& run, Store& store) {
  HONE_TRY(store.make_dirs(path));
  return store.write(
      path + "/" + kRunFile,
      json_text({{"state", finished ? "finished" : "running"}, {"run", run}}) + "\n");
}

}  // namespace hone
