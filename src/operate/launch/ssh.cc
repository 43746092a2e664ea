// Ranks on the hosts of a hostfile, each started by a local launcher there, over ssh.
#include <filesystem>
#include <map>
#include <thread>

#include "base/core/clock.h"
#include "base/core/log.h"
#include "base/core/process.h"
#include "base/core/signals.h"
#include "base/core/text.h"
#include "base/ranks/world.h"
#include "operate/launch/errors.h"
#include "operate/launch/rank_group.h"
#include "operate/launch/remote.h"
#include "operate/launch/restarts.h"
#include "operate/launch/serve_ranks.h"

namespace hone {
namespace {

constexpr double kProbeSeconds = 60;
constexpr double kAskAgainSeconds = 5, kPollSeconds = 0.1;
constexpr int kSshFailed = 255;  // the status of ssh if it did not reach the host

std::vector<std::string> ssh_words(const LaunchRequest& r, const std::string& host,
                                   const std::string& script) {
  std::vector<std::string> words = {
      "ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=5"};
  words.insert(words.end(), r.words.begin(), r.words.end());
  words.insert(words.end(), {host, script});
  return words;
}

std::string working_folder() {
  std::error_code unknown;
  return std::filesystem::current_path(unknown).string();
}

// The script of one host. The token comes through standard input: everybody on a machine sees the words
// of its processes.
std::string host_script(const LaunchRequest& r, size_t at, int first_rank,
                        const std::string& address, int port) {
  const HostSlots& host = r.hosts[at];
  std::string script = fmt::format("read -r {0} && export {0} && cd {1} && exec env", kTokenOfRanks,
                                   shell_word(working_folder()));
  for (const auto& [name, value] : control_variables(r, address, port))
    if (name.starts_with("HONE_")) script += fmt::format(" {}={}", name, value);
  if (host.chosen) script += fmt::format(" CUDA_VISIBLE_DEVICES={}", fmt::join(host.slots, ","));
  std::vector<std::string> words = {own_program(),
                                    "launch",
                                    "--num_processes",
                                    std::to_string(r.ranks),
                                    "--processes_per_machine",
                                    std::to_string(host.slots.size()),
                                    "--first_rank",
                                    std::to_string(first_rank),
                                    "--num_machines",
                                    std::to_string(r.hosts.size()),
                                    "--machine_rank",
                                    std::to_string(at),
                                    "--main_process_ip",
                                    address,
                                    "--main_process_port",
                                    std::to_string(port),
                                    "--end_with_input",
                                    "--"};
  words.insert(words.end(), r.command.begin() + 1, r.command.end());
  return script + " " + shell_line(words);
}

// "" or the reason why a host cannot take ranks.
std::string probe(const LaunchRequest& r, const std::string& host, const std::string& hash) {
  const std::string program = shell_word(own_program());
  const auto out =
      run_command(ssh_words(r, host,
                            fmt::format("cd {} || exit 11; test -x {} || exit 12; sha256sum {}",
                                        shell_word(working_folder()), program, program)),
                  {.timeout_seconds = kProbeSeconds});
  if (!out.ok()) return out.error().what();
  if (out->timed_out) return fmt::format("ssh did not answer within {:.0f} s", kProbeSeconds);
  if (out->status == kSshFailed) return "ssh does not reach it: " + std::string(trim(out->err));
  if (out->status == 11) return fmt::format("it has no folder {}", working_folder());
  if (out->status == 12) return fmt::format("it has no program {}", own_program());
  if (out->status != 0) return std::string(trim(out->err));
  const std::string other = out->out.substr(0, out->out.find(' '));
  return hash == other ? ""
                       : fmt::format(
                             "its {} is another program (SHA-256 "
                             "{:.12} instead of {:.12})",
                             own_program(), other, hash);
}

// The reasons why hosts cannot take ranks, by host. Asks all at the same time.
Result<std::map<std::string, std::string>> faults_of_hosts(const LaunchRequest& r,
                                                           const std::vector<HostSlots>& hosts) {
  const CommandOutput own = HONE_TRY(run_command({"sha256sum", own_program()}));
  const std::string hash = own.out.substr(0, own.out.find(' '));
  std::vector<std::string> all(hosts.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < hosts.size(); ++i)
    threads.emplace_back([&, i] { all[i] = probe(r, hosts[i].host, hash); });
  for (std::thread& t : threads) t.join();
  std::map<std::string, std::string> faults;
  for (size_t i = 0; i < hosts.size(); ++i)
    if (!all[i].empty()) faults[hosts[i].host] = all[i];
  return faults;
}

Error refused_hosts(const std::map<std::string, std::string>& faults, size_t hosts) {
  std::vector<std::string> texts;
  for (const auto& [host, fault] : faults) texts.push_back(fmt::format("{}: {}", host, fault));
  return Error(err::kHostRefused, fmt::format("{} of {} hosts cannot take ranks: {}", texts.size(),
                                              hosts, join(texts, "; ")))
      .todo(
          "each host needs the same program and folder, and ssh without a "
          "password");
}

Status probe_hosts(const LaunchRequest& r) {
  const auto faults = HONE_TRY(faults_of_hosts(r, r.hosts));
  if (faults.empty()) return Ok{};
  return refused_hosts(faults, r.hosts.size());
}

// After a crash: the hosts that can take ranks again. If they are too few, they are asked again until
// some come back.
Status gather_hosts(LaunchRequest& r, const std::vector<HostSlots>& hosts) {
  for (const double begin = system_clock().seconds(); !stop_requested();) {
    const auto faults = HONE_TRY(faults_of_hosts(r, hosts));
    std::vector<HostSlots> there;
    for (const HostSlots& h : hosts)
      if (!faults.contains(h.host)) there.push_back(h);
    const int slots = slots_of(there);
    if (faults.empty() || (r.min_ranks > 0 && slots >= r.min_ranks)) {
      if (!faults.empty()) log_warning("{}", refused_hosts(faults, hosts.size()).what());
      r.hosts = std::move(there);
      r.ranks = slots;
      return Ok{};
    }
    const Error refused = refused_hosts(faults, hosts.size());
    if (system_clock().seconds() - begin >= r.rejoin_s) return refused;
    log_warning("{}: asks them again", refused.what());
    for (double left = kAskAgainSeconds; left > 0 && !stop_requested(); left -= kPollSeconds)
      system_clock().sleep(kPollSeconds);
  }
  return Ok{};
}

// The name or address by which ssh's configuration reaches a host; the host itself if it names none.
std::string name_of_host(const LaunchRequest& r, const std::string& host) {
  std::vector<std::string> words = {"ssh", "-G"};
  words.insert(words.end(), r.words.begin(), r.words.end());
  words.push_back(host);
  const auto out = run_command(words, {.timeout_seconds = kProbeSeconds});
  constexpr std::string_view kKey = "hostname ";
  if (out.ok() && out->status == 0)
    for (const std::string& line : split(out->out, '\n'))
      if (line.starts_with(kKey)) return line.substr(kKey.size());
  return host;
}

Result<std::string> own_address(const LaunchRequest& r) {
  return r.address.empty() ? address_towards(name_of_host(r, r.hosts.at(0).host))
                           : Result<std::string>(r.address);
}

// The launcher of each host, which names its ranks.
std::vector<RankChild> ssh_children(const LaunchRequest& r, const std::string& address, int port) {
  std::vector<RankChild> children;
  int first_rank = 0;
  for (size_t i = 0; i < r.hosts.size(); ++i) {
    const HostSlots& host = r.hosts[i];
    RankChild child{.rank = first_rank, .host = host.host};
    child.spec.command = ssh_words(r, host.host, host_script(r, i, first_rank, address, port));
    child.has_prefix = i > 0;
    child.is_far = true;
    child.input = r.token + "\n";
    children.push_back(std::move(child));
    log_info("{}: ranks {} to {}", host.host, first_rank,
             first_rank + static_cast<int>(host.slots.size()) - 1);
    first_rank += static_cast<int>(host.slots.size());
  }
  return children;
}

Result<LaunchEnd> run_ssh(const LaunchRequest& r) {
  const std::string address = HONE_TRY(own_address(r));
  HONE_TRY(probe_hosts(r));
  const auto server = HONE_TRY(serve_ranks(r, true));
  install_stop_handlers();
  return run_restarts(r, *server,
                      {.gather = [&](LaunchRequest& now) { return gather_hosts(now, r.hosts); },
                       .children = [&](const LaunchRequest& now) -> Result<std::vector<RankChild>> {
                         return ssh_children(now, address, server->port());
                       }});
}

Result<std::string> show_ssh(const LaunchRequest& r) {
  const std::string address = HONE_TRY(own_address(r));
  std::string lines;
  int first_rank = 0;
  for (size_t i = 0; i < r.hosts.size(); ++i) {
    lines +=
        shell_line(ssh_words(r, r.hosts[i].host, host_script(r, i, first_rank, address, r.port))) +
        "\n";
    first_rank += static_cast<int>(r.hosts[i].slots.size());
  }
  return lines;
}

}  // namespace

RankLauncher rank_launcher_ssh() {
  return {.name = "ssh",
          .about = "a local launcher on each host of the hostfile, over ssh",
          .needs_hosts = true,
          .finds_machines = true,
          .run = run_ssh,
          .dry_run = show_ssh};
}

}  // namespace hone
