import type { Message } from "../../schema/message.ts";
import type { Trajectory } from "../../schema/trajectory.ts";
import { learnable, type TrajectoryGroup } from "../../schema/trajectory-group.ts";
import type { Turn } from "../../schema/turn.ts";
import type { FailedAttempt } from "./hints.ts";

/** The attempts of a group as a role saw them, less those that the infrastructure spoiled. */
export function soundAttempts(group: TrajectoryGroup, role: string): FailedAttempt[] {
  const own = learnable(group).filter((trajectory) => trajectory.role === role);
  return [...Map.groupBy(own, ({ rollout }) => rollout).values()].map((pieces) => {
    const { score, stop } = pieces[0];
    return { score, stop, messages: pieces.flatMap(messagesOf) };
  });
}

function messagesOf({ turns }: Trajectory): Message[] {
  return turns.flatMap((turn): Message[] => [{ role: "assistant", content: turn.text }, ...answers(turn)]);
}

function answers({ calls, observation }: Turn): Message[] {
  if (calls.length > 0) return calls.map((call) => ({ role: "tool", name: call.name, content: call.observation }));
  return observation === "" ? [] : [{ role: "user", content: observation }];
}
