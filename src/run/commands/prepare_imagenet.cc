// hone prepare imagenet: the archives of ILSVRC2012 as a folder a class, or as archives of WebDataset.
#include "base/core/log.h"
#include "base/core/signals.h"
#include "base/core/text.h"
#include "base/store/new_folders.h"
#include "learn/data/imagenet/imagenet.h"
#include "learn/data/rows/count_text.h"
#include "learn/train/run_lock.h"
#include "run/commands/command.h"
#include "run/commands/errors.h"
#include "run/commands/in_flags.h"

namespace hone {
namespace {

struct PrepareImageNetSettings {
#define HONE_SETTINGS "run/commands/prepare_imagenet.def"
#include "base/settings/fields.inc"
};

Status check_archives(const PrepareImageNetSettings& s) {
  if (s.train_tar.empty() && s.val_tar.empty())
    return Error(err::kMissingArgument, "hone prepare imagenet is given no archive")
        .todo("name --train_tar, --val_tar or both");
  if (!s.val_tar.empty() && s.val_boxes.empty() == s.val_labels.empty())
    return Error(err::kMissingArgument, s.val_boxes.empty()
                                            ? "--val_tar has no classes of its images"
                                            : "--val_boxes and --val_labels are both given")
        .todo("name --val_boxes ILSVRC2012_bbox_val_v3.tgz, or --val_labels a list");
  if (s.val_tar.empty() && !(s.val_boxes.empty() && s.val_labels.empty()))
    return Error(err::kMissingArgument, "classes of validation images are given without the images")
        .todo("name --val_tar ILSVRC2012_img_val.tar");
  return Ok{};
}

Result<int> prepare_archives(const PrepareImageNetSettings& s) {
  const std::string folder = without_end_slash(s.output_dir);
  install_stop_handlers();
  const NewFolders made(folder);
  const RunLock lock = HONE_TRY(RunLock::take(folder));
  const ImageNetRequest request{
      .train_tar = s.train_tar,
      .val_tar = s.val_tar,
      .val_boxes = s.val_boxes,
      .val_labels = s.val_labels,
      .output_dir = folder,
      .shards = s.output_format == "webdataset",
      .expects_all = s.expect,
      .writers = static_cast<int>(s.writers),
      .progress = [&](const std::string& split, int64_t images) -> Result<bool> {
        HONE_TRY(lock.check());
        log_info("{:<11} {} of {}", "prepared", count_of(images, "image"), split);
        return stop_requested();
      }};
  const ImageNetPrepared done = HONE_TRY(prepare_imagenet(request));
  if (done.stopped) {
    log_info("{:<11} the same command continues from here", "stopped");
    return 128 + stop_signal();
  }
  const std::string note = done.was_there ? " (were there already)" : "";
  if (!s.train_tar.empty())
    log_info("{:<11} {}/train: {} of {}{}", "images", folder, count_of(done.train_images, "image"),
             fmt::format("{} {}", grouped(done.classes), done.classes == 1 ? "class" : "classes"),
             note);
  if (!s.val_tar.empty())
    log_info("{:<11} {}/validation: {}{}", "images", folder,
             count_of(done.validation_images, "image"), note);
  return kExitDone;
}

Result<int> run_prepare_imagenet(const std::vector<std::string>& args) {
  PrepareImageNetSettings s;
  Schema schema("hone prepare imagenet",
                "turn the archives of ImageNet (ILSVRC2012) into a folder a class, or into shards");
  s.bind(schema);
  if (HONE_TRY(parse_settings(schema, args, [&] { return check_archives(s); })).done)
    return kExitDone;
  return in_flags(schema, prepare_archives(s));
}

}  // namespace

Command command_prepare_imagenet() {
  return {.name = "prepare-imagenet",
          .summary =
              "turn the archives of ImageNet into a folder a class (also: hone prepare imagenet)",
          .in = CommandGroup::kTrain,
          .run = run_prepare_imagenet};
}

}  // namespace hone
