// Runs other programs and waits for their end. Facts about this process. Quoting for a shell.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/core/error.h"

namespace hone {

bool is_terminal(int fd);
std::string host_name();    // of this machine
std::string own_program();  // the path of this program's file, "/usr/bin/hone"

// Quotes a word for a POSIX shell; a word that needs no quotes is returned unchanged.
std::string shell_word(const std::string& word);
// The words of a command, quoted and separated by blanks.
std::string shell_line(const std::vector<std::string>& words);

struct CommandOptions {
  std::string input = {};      // the text for the program's standard input
  std::string folder = {};     // the program's working folder; "": the folder of this process
  double timeout_seconds = 0;  // the program is killed after this time; 0: no limit
  // Variables for the program, in addition to those of this process; a variable that this process has is replaced.
  std::map<std::string, std::string> environment = {};
};
struct CommandOutput {
  int status = 0;          // the exit status, or 128 + signal
  bool timed_out = false;  // the program was killed after timeout_seconds
  std::string out, err;    // the texts of standard output and standard error
  // The last Error that the program reported; nullopt: none. Only hone, and programs that start hone, report Errors
  // (base/core/error_report.h).
  std::optional<Error> error;
};
// Runs argv[0] (searched in PATH) with the words `argv` and waits for its end. A program that fails is not an Error:
// check `status`. Error H0004 if it cannot be started.
Result<CommandOutput> run_command(const std::vector<std::string>& argv,
                                  const CommandOptions& options = {});

}  // namespace hone
