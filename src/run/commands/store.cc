// hone store VERB ...: what is in a folder or bucket, and files from one to the other.
#include <unistd.h>

#include "base/core/json.h"
#include "base/core/log.h"
#include "base/core/text.h"
#include "base/store/errors.h"
#include "base/store/objects/bucket.h"
#include "base/store/places/transfer.h"
#include "run/commands/command.h"
#include "run/commands/errors.h"

namespace hone {
namespace {

struct StoreSettings {
#define HONE_SETTINGS "run/commands/store.def"
#include "base/settings/fields.inc"
};

Error needs_target(const StoreSettings& s) {
  return Error(err::kMissingArgument,
               fmt::format("'hone store {}' needs a source and a target", s.verb))
      .todo(fmt::format("write hone store {} FROM TO", s.verb));
}

void print_entry(const StoreSettings& s, const std::string& name, bool folder, int64_t bytes) {
  if (s.json) {
    Json j{{"name", name}, {"folder", folder}};
    if (!folder && bytes >= 0) j["bytes"] = bytes;
    print_out(dump_json(j) + "\n");
  } else if (s.long_format) {
    print_out(fmt::format("{:>14}  {}{}\n", folder || bytes < 0 ? "-" : std::to_string(bytes), name,
                          folder ? "/" : ""));
  } else {
    print_out(fmt::format("{}{}\n", name, folder ? "/" : ""));
  }
}

Result<int> list_folder(const StoreSettings& s) {
  Store& store = file_store();
  const Store::Info info = HONE_TRY(store.info(s.source));
  if (info.exists && !info.folder) {
    print_entry(s, last_part(s.source), false, info.bytes);
    return kExitDone;
  }
  if (s.recursive) {
    std::vector<TransferFile> not_files;
    for (const auto& files : {HONE_TRY(files_below(store, s.source, &not_files)), not_files})
      for (const TransferFile& f : files) print_entry(s, f.path, false, f.bytes);
    return kExitDone;
  }
  for (const Store::Entry& e : HONE_TRY(store.list(s.source)))
    print_entry(s, e.name, e.folder, e.bytes);
  return kExitDone;
}

// "cp a b" as cp(1) does: into `b` when that is a folder, else under the name `b`.
Result<std::string> target_of(const StoreSettings& s) {
  const bool folder = s.target.ends_with('/') || HONE_TRY(file_store().info(s.target)).folder;
  if (!folder || s.source == "-") return s.target;
  const bool slash = s.target.ends_with('/');
  return s.target + (slash ? "" : "/") + last_part(s.source);
}

void tell(const StoreSettings& s, const TransferResult& r, double seconds) {
  if (s.json) {
    print_out(dump_json(Json{{"files", r.files},
                             {"bytes", r.bytes},
                             {"same", r.same},
                             {"removed", r.removed},
                             {"seconds", seconds}}) +
              "\n");
    return;
  }
  const std::string same = r.same > 0 ? fmt::format(", {} the same already", r.same) : "",
                    removed = r.removed > 0 ? fmt::format(", {} removed", r.removed) : "";
  log_info("{} {} copied, {}{}{}", r.files, r.files == 1 ? "file" : "files", format_bytes(r.bytes),
           same, removed);
}

Result<int> copy_files(const StoreSettings& s) {
  if (s.target.empty()) return needs_target(s);
  Store& store = file_store();
  const double begin = system_clock().seconds();
  const bool sync = s.verb == "sync";
  const Store::Info info =
      s.source == "-" ? Store::Info{true, false, 0} : HONE_TRY(store.info(s.source));
  if (!info.exists)
    return Error(err::kStoreMissing, fmt::format("'{}' does not exist", s.source))
        .todo("check the name; 'hone store ls' lists the names");
  if (info.folder && !sync && !s.recursive)
    return Error(err::kMissingArgument, fmt::format("'{}' is a folder", s.source))
        .todo("add --recursive to copy all that is in it");
  std::optional<Progress> bar;
  int64_t done = 0;
  if (::isatty(STDERR_FILENO)) {
    int64_t total = info.bytes;
    if (info.folder) {
      total = 0;
      std::vector<TransferFile> not_files;
      for (const TransferFile& f : HONE_TRY(files_below(store, s.source, &not_files)))
        total += f.bytes;
    }
    Progress::Options options;
    options.bytes = true;
    if (s.target != "-") bar.emplace("copy", total, options);
  }
  const OnBytes on_bytes = [&](int64_t more) {
    if (bar) bar->update(done += more);
  };
  TransferResult r;
  if (sync) {
    r = HONE_TRY(sync_folder(store, s.source, s.target, s.delete_extra, on_bytes));
  } else {
    const std::string target = s.target == "-" ? s.target : HONE_TRY(target_of(s));
    if (info.folder) {
      r = HONE_TRY(copy_folder(store, s.source, target, on_bytes));
    } else {
      if (const size_t slash = target.rfind('/'); slash != target.npos && slash > 0)
        HONE_TRY(store.make_dirs(target.substr(0, slash)));
      r.bytes = HONE_TRY(copy_file(store, s.source, target, on_bytes));
      r.files = 1;
    }
  }
  if (bar) bar->finish();
  if (s.target != "-") tell(s, r, system_clock().seconds() - begin);
  if (!r.not_files.empty()) return left_out(s.source, r.not_files);  // the rest is copied
  return kExitDone;
}

Result<int> remove_files(const StoreSettings& s) {
  const Store::Info info = HONE_TRY(file_store().info(s.source));
  if (!info.exists)
    return Error(err::kStoreMissing, fmt::format("'{}' does not exist", s.source))
        .todo("check the name; 'hone store ls' lists the names");
  if (info.folder && !s.recursive)
    return Error(err::kMissingArgument, fmt::format("'{}' is a folder", s.source))
        .todo("add --recursive to remove all that is in it");
  HONE_TRY(info.folder ? file_store().remove_all(s.source) : file_store().remove(s.source));
  if (info.folder && HONE_TRY(file_store().info(s.source)).exists) {
    std::vector<TransferFile> left;
    HONE_TRY(files_below(file_store(), s.source, &left));
    if (!left.empty()) return left_out(s.source, left);  // their keys cannot be written in a URL
  }
  return kExitDone;
}

Result<int> make_bucket(const StoreSettings& s) {
  const std::optional<ObjectUrl> url = HONE_TRY(parse_object_url(s.source));
  if (!url || !url->key.empty())
    return Error(err::kStoreUnsupported, fmt::format("'{}' does not name a bucket", s.source))
        .todo("write gs://NAME, s3://NAME or az://NAME");
  HONE_TRY(HONE_TRY(open_bucket(*url))->make(s.region));
  log_info("{} is made", s.source);
  return kExitDone;
}

Result<int> run_store(const std::vector<std::string>& given) {
  std::vector<std::string> args;
  for (const std::string& a : given)
    args.push_back(a == "-r" || a == "-R" ? "--recursive" : a == "-l" ? "--long_format" : a);
  StoreSettings s;
  Schema schema("hone store", "list, copy, show and remove files here and in object stores");
  s.bind(schema);
  for (const char* name : {"verb", "source", "target"}) schema.positional(name);
  if (HONE_TRY(parse_settings(schema, args)).done) return kExitDone;
  if (s.verb == "ls") return list_folder(s);
  if (s.verb == "rm") return remove_files(s);
  if (s.verb == "mb") return make_bucket(s);
  if (s.verb == "cat") {
    HONE_TRY(copy_file(file_store(), s.source, "-"));
    return kExitDone;
  }
  return copy_files(s);
}

}  // namespace

Command command_store() {
  return {.name = "store",
          .summary = "list, copy and remove files here and in gs://, s3://, az://",
          .in = CommandGroup::kOperate,
          .run = run_store};
}

}  // namespace hone
