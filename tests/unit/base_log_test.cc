#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <thread>

#include "base/log.hpp"
#include "base/process.hpp"

namespace gyre {
namespace {

class LogTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "gyre-log-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    for (const char* name : {"NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE",
                             "NCCL_DEBUG_TIMESTAMP_FORMAT", "NCCL_DEBUG_TIMESTAMP_LEVELS"}) {
      ::unsetenv(name);
    }
    log_reset();
    std::filesystem::remove_all(folder_);
  }
  void start(const char* level) {
    ::setenv("NCCL_DEBUG", level, 1);
    ::setenv("NCCL_DEBUG_FILE", (folder_ + "/%p-%h-%%-%z").c_str(), 1);
    log_reset();
  }
  std::string written() const {
    const std::string host = host_name().substr(0, host_name().find('.'));
    std::ifstream file(folder_ + fmt::format("/{}-{}-%-%z", ::getpid(), host));
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  std::string folder_;
};

TEST_F(LogTest, InfoAndWarnLines) {
  start("info");
  log_info(Subsystem::init, "hello {}", 1);
  log_warn("careful {}", 2);
  const std::string text = written();
  EXPECT_TRUE(std::regex_match(text, std::regex(R"([^: ]+:\d+:\d+ \[\d+\] NCCL INFO hello 1
\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] [^: ]+:\d+:\d+ \[\d+\] base_log_test\.cc:\d+ NCCL WARN careful 2
)"))) << text;
}

TEST_F(LogTest, ErrorsSayWhereTheyWereDecided) {
  const Error made{Status::internal, "here"};
  const Error also = system_error("there", 1);
  const Result<int> passed_on = made;
  for (const Error* error : {&made, &also, &passed_on.error()}) {
    EXPECT_NE(std::string(error->where.file).find("base_log_test"), std::string::npos);
  }
  EXPECT_EQ(made.where.line + 1, also.where.line);
}

TEST_F(LogTest, LevelsAreAThreshold) {
  start("WARN");
  log_info(Subsystem::init, "not this");
  log_warn("this");
  EXPECT_EQ(written().find("not this"), std::string::npos);
  EXPECT_NE(written().find("this"), std::string::npos);
  EXPECT_FALSE(log_enabled(LogLevel::info, Subsystem::init));
  EXPECT_TRUE(log_enabled(LogLevel::version, Subsystem::init));
}

TEST_F(LogTest, NothingByDefault) {
  log_reset();
  EXPECT_FALSE(log_enabled(LogLevel::warn, Subsystem::init));
  EXPECT_FALSE(log_enabled(LogLevel::version, Subsystem::init));
}

TEST_F(LogTest, Subsystems) {
  start("INFO");
  EXPECT_TRUE(log_enabled(LogLevel::info, Subsystem::bootstrap));
  EXPECT_TRUE(log_enabled(LogLevel::info, Subsystem::env));
  EXPECT_FALSE(log_enabled(LogLevel::info, Subsystem::coll));
  ::setenv("NCCL_DEBUG_SUBSYS", "coll,Net", 1);
  log_reset();
  EXPECT_TRUE(log_enabled(LogLevel::info, Subsystem::coll));
  EXPECT_TRUE(log_enabled(LogLevel::info, Subsystem::net));
  EXPECT_FALSE(log_enabled(LogLevel::info, Subsystem::init));
  EXPECT_TRUE(log_enabled(LogLevel::warn, Subsystem::init));
  ::setenv("NCCL_DEBUG_SUBSYS", "^INIT,P2P", 1);
  log_reset();
  EXPECT_FALSE(log_enabled(LogLevel::info, Subsystem::init));
  EXPECT_TRUE(log_enabled(LogLevel::info, Subsystem::shm));
  ::setenv("NCCL_DEBUG_SUBSYS", "ALL", 1);
  log_reset();
  EXPECT_TRUE(log_enabled(LogLevel::info, Subsystem::destroy));
}

TEST_F(LogTest, VersionLineHasNoPrefix) {
  start("WARN");
  log_line(LogLevel::version, "NCCL version 2.28.9+gyre");
  EXPECT_EQ(written(), "NCCL version 2.28.9+gyre\n");
}

TEST_F(LogTest, AFileThatCannotBeOpenedIsSaidOnce) {
  ::setenv("NCCL_DEBUG", "WARN", 1);
  ::setenv("NCCL_DEBUG_FILE", (folder_ + "/nosuch/file").c_str(), 1);
  testing::internal::CaptureStdout();
  log_reset();
  log_warn("here it goes");
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_TRUE(std::regex_search(
      text, std::regex("NCCL WARN NCCL_DEBUG_FILE=[^ ]*/nosuch/file[^\n]*: No such file[^\n]*\n"
                       "[^\n]*WARN here it goes\n$")))
      << text;
}

TEST_F(LogTest, StampsAsAsked) {
  ::setenv("NCCL_DEBUG_TIMESTAMP_LEVELS", "INFO", 1);
  ::setenv("NCCL_DEBUG_TIMESTAMP_FORMAT", "<%H:%M:%S.%3f%%> ", 1);
  start("INFO");
  log_info(Subsystem::init, "a");
  log_warn("b");
  const std::string text = written();
  EXPECT_TRUE(std::regex_search(text, std::regex(R"(^<\d\d:\d\d:\d\d\.\d{3}%> [^\n]* INFO a)")))
      << text;
  EXPECT_TRUE(std::regex_search(text, std::regex(R"(\n[^<\n]* WARN b)"))) << text;
}

TEST_F(LogTest, ThreadsDoNotMixLines) {
  start("INFO");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 100; ++i) log_info(Subsystem::init, "{}{}", std::string(200, 'x'), t);
    });
  }
  for (auto& thread : threads) thread.join();
  std::istringstream text(written());
  std::string line;
  int lines = 0;
  const std::regex form(R"([^: ]+:\d+:\d+ \[0\] NCCL INFO x{200}[0-3])");
  while (std::getline(text, line)) {
    EXPECT_TRUE(std::regex_match(line, form)) << line;
    ++lines;
  }
  EXPECT_EQ(lines, 400);
}

}  // namespace
}  // namespace gyre
