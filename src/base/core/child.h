// Starts other programs.
//
//   Child child = HONE_TRY(spawn({.command = {"hone", "train"}, .out = {ChildStream::kNull}}));
//   const ChildEnd end = wait_for_child(child.pid);
//   if (end.status != 0) ... child.error() ...      // why, if the program is hone
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/core/error.h"
#include "base/core/file_descriptor.h"

namespace hone {

struct ChildStream {
  enum Kind { kOurs, kNull, kPipe, kNewFile, kAppend } kind = kOurs;
  std::string file = {};  // of kNewFile and kAppend
  mode_t mode = 0666;     // of a file that is made
};

struct ChildSpec {
  std::vector<std::string> command;  // command[0] is searched in PATH
  std::string program = {};          // program to start under the name command[0]; "": command[0]
  std::map<std::string, std::string> environment = {};  // added to ours
  std::string folder = {};                              // its working folder; "": ours
  ChildStream in = {}, out = {}, err = {};
  // A group or session of its own does not receive the terminal's Ctrl-C.
  enum Group { kOurGroup, kOwnGroup, kOwnSession } group = kOurGroup;
  bool closes_files = false;  // also closes what `before_start` and the program would inherit
  int death_signal = 0;       // sent to it when this process ends; 0: none
  // Called with the process number before the program starts. If it fails, nothing starts.
  std::function<Status(pid_t)> record = {};
  // Called in the new process just before the program starts; only async-signal-safe calls are
  // allowed.
  // It may fork and return in one of the processes, which becomes the program; another one closes
  // `needed` and continues on its own. Returns 0 or an errno.
  std::function<int(std::span<const int> needed)> before_start = {};
};

struct Child {
  pid_t pid = 0;
  FileDescriptor in = {}, out = {}, err = {};  // our ends of pipes
  FileDescriptor report = {};                  // a file in memory: HONE_ERROR_FD of the program

  // The last error of hone, if it was this program or started by it (base/core/error_report.h).
  std::optional<Error> error() const;
};

// Starts the program. Errors: H0004 it cannot be started, those of `record`.
Result<Child> spawn(const ChildSpec& spec);

struct ChildEnd {
  int signal = 0;  // that ended it; 0: it ended by itself
  int status = 0;  // its exit status, or 128 + signal
};
ChildEnd wait_for_child(pid_t pid);
std::optional<ChildEnd> child_ended(pid_t pid);  // nothing: it runs

}  // namespace hone
