// What launchers leave in the environment, and the names of runs.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "bootstrap/launcher.hpp"

namespace gyre {
namespace {

Environment variables(std::map<std::string, std::string> values) {
  return [values = std::move(values)](std::string_view name) {
    const auto found = values.find(std::string(name));
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
}

TEST(Launchers, Torchrun) {
  const auto launch = read_launch(variables({{"RANK", "3"},
                                             {"WORLD_SIZE", "8"},
                                             {"LOCAL_RANK", "1"},
                                             {"MASTER_ADDR", "2001:db8::1"},
                                             {"MASTER_PORT", "29500"}}),
                                  "");
  ASSERT_TRUE(launch) << launch.error().text;
  EXPECT_EQ(launch->launcher, "torchrun");
  EXPECT_EQ(launch->rank, 3);
  EXPECT_EQ(launch->world, 8);
  EXPECT_EQ(launch->local_rank, 1);
  EXPECT_EQ(launch->rendezvous, "[2001:db8::1]:29500");
}

TEST(Launchers, TorchrunsOwnStoreKeepsItsPort) {
  auto with_store = variables({{"RANK", "0"},
                               {"WORLD_SIZE", "2"},
                               {"MASTER_ADDR", "a"},
                               {"MASTER_PORT", "29500"},
                               {"TORCHELASTIC_RUN_ID", "r"},
                               {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
  const auto launch = read_launch(with_store, "");
  ASSERT_TRUE(launch);
  EXPECT_TRUE(launch->rendezvous.starts_with("a:"));
  EXPECT_NE(launch->rendezvous, "a:29500");
  EXPECT_EQ(job_name(with_store, ""), "torchrun r ");
}

TEST(Launchers, OpenMpiOnOneHostAndOnSeveral) {
  std::map<std::string, std::string> values = {{"OMPI_COMM_WORLD_RANK", "1"},
                                               {"OMPI_COMM_WORLD_SIZE", "4"},
                                               {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                               {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                                               {"PMIX_NAMESPACE", "prterun-h-12@1"}};
  auto launch = read_launch(variables(values), "");
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->launcher, "Open MPI");
  EXPECT_TRUE(launch->rendezvous.starts_with("127.0.0.1:")) << launch->rendezvous;
  values["OMPI_COMM_WORLD_LOCAL_SIZE"] = "2";
  EXPECT_EQ(read_launch(variables(values), "")->rendezvous, "");
  values["OMPI_MCA_orte_hnp_uri"] = "123.0;tcp://192.0.2.7,10.0.0.7:5000";
  EXPECT_TRUE(read_launch(variables(values), "")->rendezvous.starts_with("192.0.2.7:"));
}

TEST(Launchers, MpichOnOneHostIsNamedByItsParent) {
  const auto environment = variables(
      {{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "0"}, {"MPI_LOCALNRANKS", "2"}});
  const auto one = read_launch(environment, "100 7");
  const auto two = read_launch(environment, "101 8");
  ASSERT_TRUE(one && two);
  EXPECT_EQ(one->launcher, "MPICH");
  EXPECT_EQ(one->local_rank, 0);
  EXPECT_TRUE(one->rendezvous.starts_with("127.0.0.1:"));
  EXPECT_NE(one->rendezvous, two->rendezvous);
  EXPECT_FALSE(parent_identity().empty());
  EXPECT_EQ(parent_identity(), parent_identity());
}

TEST(Launchers, Slurm) {
  const auto launch = read_launch(variables({{"SLURM_PROCID", "5"},
                                             {"SLURM_NTASKS", "8"},
                                             {"SLURM_LOCALID", "1"},
                                             {"SLURM_JOB_ID", "77"},
                                             {"SLURM_STEP_ID", "0"},
                                             {"SLURM_NODELIST", "gpu[07-09,12],big1"}}),
                                  "");
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->launcher, "Slurm");
  EXPECT_TRUE(launch->rendezvous.starts_with("gpu07:")) << launch->rendezvous;
}

// Two mpiruns in one sbatch share the job, and on the nodes of one mpirun the step differs.
TEST(Launchers, MpiWithinSlurmIsNamedByMpi) {
  std::map<std::string, std::string> values = {{"OMPI_COMM_WORLD_RANK", "0"},
                                               {"OMPI_COMM_WORLD_SIZE", "2"},
                                               {"PMIX_NAMESPACE", "prterun-h-12@1"},
                                               {"SLURM_PROCID", "0"},
                                               {"SLURM_NTASKS", "2"},
                                               {"SLURM_JOB_ID", "77"}};
  const std::string one = job_name(variables(values), "");
  values["SLURM_STEP_ID"] = "3";
  EXPECT_EQ(job_name(variables(values), ""), one) << "another node of the same mpirun";
  values["PMIX_NAMESPACE"] = "prterun-h-13@1";
  EXPECT_NE(job_name(variables(values), ""), one) << "another mpirun of the same job";

  const auto hydra = variables(
      {{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"MPI_LOCALNRANKS", "2"}, {"SLURM_JOB_ID", "77"}});
  EXPECT_NE(job_name(hydra, "100 7"), job_name(hydra, "101 8"));
}

TEST(Launchers, WithoutANameOfItsOwnMpiTakesTheJobs) {
  std::map<std::string, std::string> values = {
      {"PMI_RANK", "0"}, {"PMI_SIZE", "4"}, {"MPI_LOCALNRANKS", "2"}, {"SLURM_JOB_ID", "77"}};
  const std::string one = job_name(variables(values), "100 7");
  EXPECT_NE(one, "");
  values["SLURM_STEP_ID"] = "3";
  EXPECT_EQ(job_name(variables(values), "101 8"), one) << "another node of the same mpiexec";
}

TEST(Launchers, SrunIsNamedByItsStep) {
  const auto step = [](const char* number) {
    return job_name(variables({{"SLURM_PROCID", "0"},
                               {"SLURM_NTASKS", "2"},
                               {"SLURM_JOB_ID", "77"},
                               {"SLURM_STEP_ID", number}}),
                    "");
  };
  EXPECT_EQ(step("0"), "slurm 77.0");
  EXPECT_NE(step("0"), step("1"));
}

TEST(Launchers, NoneIsAWorldOfOne) {
  const auto launch = read_launch(variables({}), "");
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->world, 1);
  EXPECT_EQ(job_name(variables({}), "1 2"), "");
}

TEST(Launchers, NonsenseIsRefusedByName) {
  const auto refused = [](std::map<std::string, std::string> values) {
    const auto launch = read_launch(variables(std::move(values)), "");
    return launch ? std::string("accepted") : launch.error().text;
  };
  EXPECT_NE(refused({{"RANK", "x"}, {"WORLD_SIZE", "2"}}).find("RANK=\"x\""), std::string::npos);
  EXPECT_NE(refused({{"RANK", "2"}, {"WORLD_SIZE", "2"}}).find("from 0 to 1"), std::string::npos);
  EXPECT_NE(refused({{"RANK", "0"}, {"WORLD_SIZE", "0"}}).find("WORLD_SIZE"), std::string::npos);
  EXPECT_NE(
      refused({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "99999"}})
          .find("MASTER_PORT"),
      std::string::npos);
}

TEST(Launchers, FirstHosts) {
  EXPECT_EQ(first_host("a"), "a");
  EXPECT_EQ(first_host("a,b"), "a");
  EXPECT_EQ(first_host("node[1-3,7],b2"), "node1");
  EXPECT_EQ(first_host("n[003]-ib,x"), "n003-ib");
  EXPECT_EQ(first_host("x,node[1-3]"), "x");
  EXPECT_EQ(first_host("broken[1"), "");
}

}  // namespace
}  // namespace gyre
