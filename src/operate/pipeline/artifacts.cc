#include "operate/pipeline/artifacts.h"

#include <filesystem>

#include "base/core/text.h"
#include "base/store/hash.h"
#include "base/store/places/transfer.h"
#include "operate/pipeline/errors.h"

namespace hone {

Result<Artifact> content_of(Store& store, const std::string& place) {
  if (!HONE_TRY(store.info(place)).exists)
    return Error(err::kStepInput, fmt::format("'{}' does not exist", place))
        .todo("check the path; paths are relative to the folder that the command is typed in");
  Artifact artifact;
  Sha256 all;
  for (const TransferFile& file : HONE_TRY(files_below(store, place))) {
    ArtifactFile f{.path = file.path, .bytes = file.bytes, .sha256 = {}};
    f.sha256 = HONE_TRY(sha256_of_file(store, file.path.empty() ? place : place + "/" + file.path));
    const std::string line = fmt::format("{}\n{}\n{}\n", f.path, f.bytes, f.sha256);
    all.add(std::as_bytes(std::span(line)));
    artifact.files.push_back(std::move(f));
  }
  artifact.hash = all.hex();
  return artifact;
}

Status link_folder(Store& store, const std::string& from, const std::string& to) {
  HONE_TRY(store.make_dirs(to));
  for (const TransferFile& file : HONE_TRY(files_below(store, from))) {
    const std::string source = from + "/" + file.path, target = to + "/" + file.path;
    HONE_TRY(store.make_dirs(target.substr(0, target.rfind('/'))));
    std::error_code failed;
    std::filesystem::create_hard_link(source, target, failed);
    if (failed) HONE_TRY(copy_file(store, source, target));
  }
  return Ok{};
}

Status replace_folder(Store& store, const std::string& from, const std::string& to) {
  if (HONE_TRY(store.exists(to))) {
    const std::string old = to + ".old";
    HONE_TRY(store.remove_all(old));
    HONE_TRY(store.rename(to, old));
    HONE_TRY(store.remove_all(old));
  }
  return store.rename(from, to);
}

Status publish_step(Store& store, const std::string& folder, const std::string& description,
                    const std::string& target) {
  HONE_TRY(store.remove_all(target + ".json"));  // until the files are those that it describes
  HONE_TRY(sync_folder(store, folder, target, true));
  return store.write(target + ".json", HONE_TRY(store.read(description)));
}

}  // namespace hone
