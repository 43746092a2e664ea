// Runs other programs and waits for their end.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/core/error.h"

namespace hone {

bool is_terminal(int fd);
std::string host_name();    // of this machine
std::string own_program();  // the file of this program, "/usr/bin/hone"

// A word of a shell's command, in quotes if it needs them.
std::string shell_word(const std::string& word);
std::string shell_line(const std::vector<std::string>& words);

struct CommandOptions {
  std::string input = {};      // the program's standard input
  std::string folder = {};     // its working folder; "" = ours
  double timeout_seconds = 0;  // 0 = none; when it passes the program is killed
  std::map<std::string, std::string> environment = {};  // added to ours
};
struct CommandOutput {
  int status = 0;  // exit status, or 128 + signal
  bool timed_out = false;
  std::string out, err;
  std::optional<Error> error;  // the last one of hone, if it was the program or started by it
};
// Runs argv[0] (searched in PATH) and waits. Error H0004 when it cannot be started.
Result<CommandOutput> run_command(const std::vector<std::string>& argv,
                                  const CommandOptions& options = {});

}  // namespace hone
