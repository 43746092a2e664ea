// Starts other programs as child processes, without waiting for their end (base/core/process.h waits).
//
//   Child child = HONE_TRY(spawn({.command = {"hone", "train"}, .out = {ChildStream::kNull}}));
//   const ChildEnd end = wait_for_child(child.pid);
//   if (end.status != 0) ... child.error() ...      // the child's Error, if the child is hone
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

// The target of one standard stream of the child.
struct ChildStream {
  // kOurs: the stream of the parent. kNull: /dev/null. kPipe: a pipe to this process. kNewFile: `file`, created
  // or emptied. kAppend: `file`, created if it does not exist; the child writes at its end. An input stream with
  // kNewFile or kAppend reads `file`, which must exist.
  enum Kind { kOurs, kNull, kPipe, kNewFile, kAppend } kind = kOurs;
  std::string file = {};  // the path for kNewFile and kAppend
  mode_t mode = 0666;     // the permissions of a created file, before the umask
};

// "Our" in kOurs and kOurGroup means the parent: the process that calls spawn().
struct ChildSpec {
  std::vector<std::string> command;  // the words, not empty; command[0] is searched in PATH
  std::string program = {};          // the file to start under the name command[0]; "": command[0]
  // Variables for the child, in addition to the parent's; a variable that the parent has is replaced.
  std::map<std::string, std::string> environment = {};
  std::string folder = {};  // the child's working folder; "": the parent's
  ChildStream in = {}, out = {}, err = {};
  // The process group or session of the child: the parent's group, a new group, or a new session. A child with its own
  // group or session does not receive the terminal's Ctrl-C.
  enum Group { kOurGroup, kOwnGroup, kOwnSession } group = kOurGroup;
  bool closes_files = false;  // closes inherited descriptors above 2 before `before_start`
  int death_signal = 0;       // the signal that the child receives when the parent ends; 0: none
  // Called in the parent with the child's process number, before the program starts. If it fails, the program
  // does not start, and spawn() returns its error.
  std::function<Status(pid_t)> record = {};
  // Called in the new process just before the program starts; only async-signal-safe calls are allowed. Returns 0,
  // or an errno that makes spawn() fail. The function may fork: the process in which it returns becomes the program.
  // The other process must not return, and must close the descriptors `needed`.
  std::function<int(std::span<const int> needed)> before_start = {};
};

// A started child. Its destructor closes the descriptors; it neither ends the child nor waits for it.
struct Child {
  pid_t pid = 0;
  FileDescriptor in = {}, out = {}, err = {};  // the parent's ends of kPipe streams; else not open
  // A file in memory into which the child reports errors. The child finds the file's descriptor in the variable
  // HONE_ERROR_FD.
  FileDescriptor report = {};

  // The last Error that the child reported; nullopt: none. Only hone, and programs that start hone, report Errors
  // (base/core/error_report.h).
  std::optional<Error> error() const;
};

// Starts the program and returns once it runs. Errors: H0004 if it cannot be started; the error of `record`.
Result<Child> spawn(const ChildSpec& spec);

struct ChildEnd {
  int signal = 0;  // the signal that ended the child; 0: it exited
  int status = 0;  // the exit status, or 128 + signal
};
// Waits until the child ends. After this function or child_ended() has returned the end, call neither of them again for
// this child.
ChildEnd wait_for_child(pid_t pid);
// The end of the child, without waiting; nullopt: the child still runs.
std::optional<ChildEnd> child_ended(pid_t pid);

}  // namespace hone
