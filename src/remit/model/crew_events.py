"""What is told of mail and of agents to whoever wants to hear of it (S3.29, S3.30)."""

from remit.model.agents import Agent
from remit.model.crew import CrewEvent, Mail


def mail_sent(mail: Mail, event_id: str) -> CrewEvent:
    """Return the event of a mail, which is written with it (S3.29)."""
    return CrewEvent(
        id=event_id,
        tenant=mail.tenant,
        topic="mail.sent",
        payload={
            "mailId": mail.id,
            "toAgentId": mail.to_agent or None,
            "isForHuman": mail.is_for_human,
            "subject": mail.subject,
        },
        created=mail.created,
    )


def agent_created(agent: Agent, event_id: str) -> CrewEvent:
    """Return the event of an agent that is registered, which is written with it (S3.30)."""
    return CrewEvent(
        id=event_id,
        tenant=agent.tenant,
        topic="agent.created",
        payload={
            "agentId": agent.id,
            "type": agent.type.value,
            "epicId": agent.epic or None,
        },
        created=agent.created,
    )
