#include "base/core/child.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "base/core/error_report.h"
#include "base/core/errors.h"
#include "base/core/text.h"

namespace hone {
namespace {

using ::testing::HasSubstr;

class ChildTest : public ::testing::Test {
 protected:
  ChildTest() { std::filesystem::create_directories(folder_); }
  ~ChildTest() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  ChildSpec shell(const std::string& script) const {
    return {.command = {"sh", "-c", script},
            .in = {ChildStream::kNull},
            .out = {ChildStream::kNewFile, path("out")},
            .err = {ChildStream::kAppend, path("err")}};
  }

 private:
  const std::string folder_ = testing::TempDir() + "/child_" + std::to_string(::getpid());
};

TEST_F(ChildTest, HasItsStreamsFolderAndEnvironment) {
  ChildSpec spec = shell("echo $0 $A; pwd; read x || echo end; echo bad >&2; exit 3");
  spec.command.push_back("name");
  spec.environment["A"] = "b";
  spec.folder = "/";
  EXPECT_EQ(wait_for_child(spawn(spec)->pid).status, 3);
  EXPECT_EQ(wait_for_child(spawn(spec)->pid).signal, 0);
  EXPECT_EQ(read_file(path("out")).value(), "name b\n/\nend\n");
  EXPECT_EQ(read_file(path("err")).value(), "bad\nbad\n");
  const ChildEnd killed = wait_for_child(spawn(shell("kill -9 $$"))->pid);
  EXPECT_EQ(killed.signal, SIGKILL);
  EXPECT_EQ(killed.status, 128 + SIGKILL);
}

TEST_F(ChildTest, SaysWhatCannotBeStarted) {
  const Result<Child> none = spawn({.command = {"no-such-program-xyz"}});
  EXPECT_TRUE(none.error().is(err::kCommandFailed));
  EXPECT_THAT(none.error().remedy(), HasSubstr("PATH"));
  EXPECT_THAT(spawn({.command = {"true"}, .folder = "/no/folder"}).error().what(),
              HasSubstr("'true': /no/folder: No such file"));
  EXPECT_THAT(
      spawn({.command = {"true"}, .out = {ChildStream::kNewFile, "/proc/x/y"}}).error().what(),
      HasSubstr("/proc/x/y"));
}

// A signal that interrupts the wait for exec must not make a program that was not found count as started.
TEST_F(ChildTest, SignalsDoNotHideThatAProgramIsNotThere) {
  struct sigaction quiet {};
  quiet.sa_handler = [](int) {};  // without SA_RESTART
  ::sigaction(SIGUSR1, &quiet, nullptr);
  std::atomic<bool> ended = false;
  const pthread_t self = ::pthread_self();
  std::thread signals([&] {
    while (!ended) {
      ::pthread_kill(self, SIGUSR1);
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  });
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(spawn({.command = {"/no/such/program"}}).ok());
  ended = true;
  signals.join();
}

TEST_F(ChildTest, NothingBeginsBeforeItIsRecorded) {
  ChildSpec spec = shell("echo began");
  pid_t seen = 0;
  spec.record = [&](pid_t pid) -> Status {
    seen = pid;
    return Error(err::kFileUnreadable, "not recorded");
  };
  EXPECT_EQ(spawn(spec).error().what(), "not recorded");
  EXPECT_FALSE(child_ended(seen));  // it was waited for
  EXPECT_EQ(read_file(path("out")).value(), "");
}

// A child that is killed before its program begins has started: its end says what became of it.
TEST_F(ChildTest, MayBeKilledBeforeItsProgramBegins) {
  ::signal(SIGPIPE, SIG_IGN);
  ChildSpec spec = shell("echo ran");
  spec.record = [](pid_t pid) -> Status {
    ::kill(pid, SIGKILL);
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT);
    return Ok{};
  };
  const Result<Child> child = spawn(spec);
  ASSERT_TRUE(child.ok());
  EXPECT_EQ(wait_for_child(child->pid).signal, SIGKILL);
  EXPECT_FALSE(child->error());
}

TEST_F(ChildTest, BeforeStartMayForkAndRefuse) {
  ChildSpec spec = shell("exit 5");
  spec.before_start = [](std::span<const int>) { return ENOMEM; };
  EXPECT_THAT(spawn(spec).error().what(), HasSubstr("Cannot allocate memory"));
  spec.before_start = [](std::span<const int> needed) {  // a process between, which adds one
    const pid_t program = ::fork();
    if (program == 0) return 0;
    for (const int fd : needed) ::close(fd);
    ::_exit(wait_for_child(program).status + 1);
  };
  EXPECT_EQ(wait_for_child(spawn(spec)->pid).status, 6);
}

TEST_F(ChildTest, ASessionOfItsOwnHasNoFilesOfOurs) {
  const FileDescriptor open(::dup(1));  // not closed on exec
  ChildSpec spec = shell("test -e /proc/self/fd/" + std::to_string(open.get()));
  EXPECT_EQ(wait_for_child(spawn(spec)->pid).status, 0);
  spec.group = ChildSpec::kOwnSession;
  spec.closes_files = true;
  const Child child = spawn(spec).value();
  EXPECT_NE(wait_for_child(child.pid).status, 0);
  spec.command = {"sleep", "100"};
  const Child sleeping = spawn(spec).value();
  EXPECT_EQ(::getsid(sleeping.pid), sleeping.pid);
  EXPECT_FALSE(child_ended(sleeping.pid));
  ::kill(sleeping.pid, SIGTERM);
  EXPECT_EQ(wait_for_child(sleeping.pid).signal, SIGTERM);
}

TEST_F(ChildTest, ReportsItsError) {
  const ErrorCode away{"H9107", "a server cannot be reached", ErrorCode::transient};
  const Error error =
      Error(away, "cannot read \"x\"\nof y").at("inner").at("outer").todo("try again");
  ChildSpec spec = shell("printf '%s' \"$1\" >>/dev/fd/$HONE_ERROR_FD; exit 1");
  spec.command.insert(spec.command.end(),
                      {"sh", "noise\n{\"code\": 5}\n" + report_line(error) + "[]\n"});
  const Child child = spawn(spec).value();
  EXPECT_EQ(wait_for_child(child.pid).status, 1);
  const std::optional<Error> reported = child.error();
  ASSERT_TRUE(reported);
  EXPECT_EQ(reported->text(), error.text());
  EXPECT_TRUE(reported->is_transient());
  EXPECT_TRUE(reported->is(away));
  const Child silent = spawn(shell("exit 1")).value();
  wait_for_child(silent.pid);
  EXPECT_FALSE(silent.error());
}

TEST(ErrorReport, OfLinesTheLastCounts) {
  const Error one(err::kJsonSyntax, "one"), two(err::kJsonDepth, "two");
  EXPECT_EQ(reported_error(report_line(one) + report_line(two))->what(), "two");
  EXPECT_FALSE(reported_error(report_line(one))->is_transient());
  for (const char* other :
       {"", "H0107  text", "{}", "{\"code\": \"H01\"}", "{\"code\": \"X0107\"}"})
    EXPECT_FALSE(reported_error(other)) << other;
}

}  // namespace
}  // namespace hone
